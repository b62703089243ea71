import { durationFromMs, type Value } from "@bufbuild/protobuf/wkt"
import type { Difference } from "../../../src/gen/core/history/v2/history_service_pb.ts"
import { formatDuration } from "../form/index.ts"
import { language, t } from "../shell/index.ts"
import { neverMs } from "./time.tsx"

/**
 * Fields before and after a change. Old values are struck through, because color alone is not
 * accessible.
 */
export function Differences({ rows }: { readonly rows: readonly Difference[] }) {
  if (rows.length === 0) return null
  return (
    <ul className="value-list small">
      {rows.map(({ path, words, before, after }) => {
        const [was, is] = [before, after].map((value) => value && formatValue(value, path.at(-1)))
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

/** Names of fields in seconds. */
const durationNames = /(Seconds|Lifetime|Expiration|Grace)$|^expiry$/

/** Larger numbers are times in milliseconds, from 2001 on. */
const firstTimeMs = 1e12

/** Formats a number by its field name: a time, a duration, or a plain number. */
export function formatNumber(value: number, name: string): string {
  const moment = { dateStyle: "medium", timeStyle: "short" } as const
  if (value >= neverMs) return t("detail.never")
  if (value >= firstTimeMs) return new Intl.DateTimeFormat(language, moment).format(value)
  if (name.endsWith("Ms") && value % 1000 === 0) return formatDuration(durationFromMs(value))
  if (durationNames.test(name)) return formatDuration(durationFromMs(value * 1000))
  return name.endsWith("Ms") ? `${value} ms` : String(value)
}

/** Formats a value for display. */
function formatValue({ kind }: Value, name = ""): string {
  if (kind.case === "boolValue") return t(kind.value ? "policy.yes" : "policy.no")
  if (kind.case === "numberValue") return formatNumber(kind.value, name)
  if (kind.case === "listValue") {
    return kind.value.values.map((each) => formatValue(each)).join(", ")
  }
  if (kind.case === "structValue") {
    return Object.entries(kind.value.fields)
      .map(([key, each]) => `${key}: ${formatValue(each, key)}`)
      .join(", ")
  }
  return kind.case === "nullValue" ? "" : String(kind.value ?? "")
}
