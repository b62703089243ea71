const units = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const

/** A time in seconds, in words, in the largest unit that it is a whole number of: "5 minutes". */
export function durationIn(language: string, seconds: number): string {
  const [unit, size] = units.find((each) => seconds > 0 && seconds % each[1] === 0) ?? ["second", 1]
  const format = new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" })
  return format.format(seconds / size)
}
