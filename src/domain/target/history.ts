import { formerValues, historyOf } from "../../store/index.ts"
import { toCondition } from "./condition.ts"
import { type Execution, execution, type Target, target } from "./model.ts"

const operations = "core.action.v2.ActionService/*Target"

const types = { webhook: "restWebhook", call: "restCall", async: "restAsync" } as const

/** The settings of a target with the names of a request. */
const settingsOf = ({ targetType, interruptOnError, timeoutMs, ...state }: Target) => ({
  name: state.name,
  [types[targetType]]: { interruptOnError },
  endpoint: state.endpoint,
  timeout: timeoutMs / 1000,
  payloadType: state.payloadType,
})

const idOf = ({ target }: Execution["targets"][number]): string => target

export const targetHistory = historyOf(target, {
  hidden: ["version", "sealed", "before", "authors", "keys.*.changed"],
  operations,
  undo: {
    "target.changed": ({ before, after }) => {
      const fields = formerValues<object>(settingsOf(before), settingsOf(after))
      return Object.keys(fields).length === 0 ? "secret" : ["UpdateTarget", fields]
    },
    "target.public_key.activated": ({ event: { data } }) => ["DeactivatePublicKey", data],
    "target.public_key.deactivated": ({ event: { data } }) => ["ActivatePublicKey", data],
  },
  noUndo: { secret: ["target.public_key.*"] },
})

export const executionHistory = historyOf(execution, {
  hidden: ["author"],
  operations,
  undo: {
    "execution.*": ({ id, before: { targets } }) =>
      // Older operations could include executions, which the current one can't.
      targets.some(({ type }) => type !== "target")
        ? "parts"
        : ["SetExecution", { condition: toCondition(id), targets: targets.map(idOf) }],
  },
})
