import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { language } from "../shell/index.ts"

const sizes = { seconds: 1, minutes: 60, hours: 3600, days: 86_400 } as const

export type Unit = keyof typeof sizes

export const units: readonly Unit[] = ["seconds", "minutes", "hours", "days"]

/** A time as people type it; without a count it is not said at all. */
export type Amount = { readonly count: string; readonly unit: Unit }

/** Whether a value of a form is a time. */
export const isAmount = (value: unknown): value is Amount =>
  typeof value === "object" && value !== null && "unit" in value

/** A value of a form as a time; an empty one where the value is of another kind. */
export const amountIn = (value: unknown): Amount =>
  isAmount(value) ? value : { count: "", unit: "hours" }

/** In the largest unit that leaves nothing over; what is no whole second is a part of one. */
export function amountOf(duration: Duration | undefined, unit: Unit = "hours"): Amount {
  if (!duration) return { count: "", unit }
  const seconds = durationMs(duration) / 1000
  if (seconds === 0) return { count: "0", unit: "seconds" }
  const fitting = units.findLast((each) => seconds % sizes[each] === 0) ?? "seconds"
  return { count: String(seconds / sizes[fitting]), unit: fitting }
}

export function durationOf({ count, unit }: Amount): Duration | undefined {
  if (count.trim() === "") return undefined
  return durationFromMs(Math.round(Number(count) * sizes[unit] * 1000))
}

/** A time in a reader's words: "12 hours". */
export function durationText(duration: Duration): string {
  const { count, unit } = amountOf(duration)
  const named = { style: "unit", unit: unit.slice(0, -1), unitDisplay: "long" } as const
  return new Intl.NumberFormat(language, named).format(Number(count))
}
