const units = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const

/** A duration in seconds as text, in the largest unit of which it is a multiple: "5 minutes". */
export function formatDuration(language: string, seconds: number): string {
  const [unit, size] = units.find((each) => seconds > 0 && seconds % each[1] === 0) ?? ["second", 1]
  const format = new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" })
  return format.format(seconds / size)
}
