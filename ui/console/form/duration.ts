import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { language } from "../shell/index.ts"

const unitSeconds = { seconds: 1, minutes: 60, hours: 3600, days: 86_400 } as const

export type Unit = keyof typeof unitSeconds

export const units: readonly Unit[] = ["seconds", "minutes", "hours", "days"]

/** A duration as users type it; without a count it is not set. */
export type Amount = { readonly count: string; readonly unit: Unit }

/** Whether a form value is a duration. */
export const isAmount = (value: unknown): value is Amount =>
  typeof value === "object" && value !== null && "unit" in value

/** A form value as a duration; empty if the value has another type. */
export const toAmount = (value: unknown): Amount =>
  isAmount(value) ? value : { count: "", unit: "hours" }

/** Uses the largest unit without a remainder; fractions of a second stay fractions. */
export function amountFromDuration(duration: Duration | undefined, unit: Unit = "hours"): Amount {
  if (!duration) return { count: "", unit }
  const seconds = durationMs(duration) / 1000
  if (seconds === 0) return { count: "0", unit: "seconds" }
  const fitting = units.findLast((each) => seconds % unitSeconds[each] === 0) ?? "seconds"
  return { count: String(seconds / unitSeconds[fitting]), unit: fitting }
}

export function durationFromAmount({ count, unit }: Amount): Duration | undefined {
  if (count.trim() === "") return undefined
  return durationFromMs(Math.round(Number(count) * unitSeconds[unit] * 1000))
}

/** Formats a duration in the user's language: "12 hours". */
export function formatDuration(duration: Duration): string {
  const { count, unit } = amountFromDuration(duration)
  const named = { style: "unit", unit: unit.slice(0, -1), unitDisplay: "long" } as const
  return new Intl.NumberFormat(language, named).format(Number(count))
}
