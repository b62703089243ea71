import { durationFromMs, type Value } from "@bufbuild/protobuf/wkt"
import type { Difference } from "../../../src/gen/core/history/v2/history_service_pb.ts"
import { durationText } from "../form/index.ts"
import { language, t } from "../shell/index.ts"
import { never } from "./time.tsx"

/** Fields before and after. Colour alone says nothing to many: what went is struck through. */
export function Differences({ rows }: { readonly rows: readonly Difference[] }) {
  if (rows.length === 0) return null
  return (
    <ul className="value-list small">
      {rows.map(({ path, words, before, after }) => {
        const [was, is] = [before, after].map((value) => value && textOf(value, path.at(-1)))
        return (
          <li key={path.join(".")}>
            {words}
            {": "}
            {before && <del className="quiet">{was}</del>}
            {before && after && " → "}
            {after && (before ? <ins>{is}</ins> : is)}
          </li>
        )
      })}
    </ul>
  )
}

/** What counts seconds, by what it is called. */
const inSeconds = /(Seconds|Lifetime|Expiration|Grace)$|^expiry$/

/** No other number is so large: a moment, in milliseconds, from 2001 on. */
const firstMoment = 1e12

/** A number by what it is called: a moment, a time that passes, or the number itself. */
export function numberText(value: number, name: string): string {
  const moment = { dateStyle: "medium", timeStyle: "short" } as const
  if (value >= never) return t("detail.never")
  if (value >= firstMoment) return new Intl.DateTimeFormat(language, moment).format(value)
  if (name.endsWith("Ms") && value % 1000 === 0) return durationText(durationFromMs(value))
  if (inSeconds.test(name)) return durationText(durationFromMs(value * 1000))
  return name.endsWith("Ms") ? `${value} ms` : String(value)
}

/** A value as people read it. */
function textOf({ kind }: Value, name = ""): string {
  if (kind.case === "boolValue") return t(kind.value ? "policy.yes" : "policy.no")
  if (kind.case === "numberValue") return numberText(kind.value, name)
  if (kind.case === "listValue") {
    return kind.value.values.map((each) => textOf(each)).join(", ")
  }
  if (kind.case === "structValue") {
    return Object.entries(kind.value.fields)
      .map(([key, each]) => `${key}: ${textOf(each, key)}`)
      .join(", ")
  }
  return kind.case === "nullValue" ? "" : String(kind.value ?? "")
}
