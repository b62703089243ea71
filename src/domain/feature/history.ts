import { historyOf } from "../../store/index.ts"
import { features } from "./model.ts"

/** The name of a feature in requests. */
const nameOf = (key: string): string =>
  key === "token_exchange"
    ? "oidcTokenExchange"
    : key.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

export const featuresHistory = historyOf(features, {
  operations: "core.feature.v2.FeatureService/*InstanceFeatures",
  undo: {
    // Restores the features that an event changed: one or all.
    "feature.instance.*": ({ event: { type }, before }) => {
      const [, , key = ""] = type.split(".")
      const former = Object.entries(before).filter(([each]) => key === "reset" || each === key)
      if (former.length === 0) return "unsaid"
      const fields = former.map(([each, value]) => [nameOf(each), value] as const)
      return ["SetInstanceFeatures", Object.fromEntries(fields)]
    },
  },
  noUndo: { operator: ["feature.system.*"] },
})
