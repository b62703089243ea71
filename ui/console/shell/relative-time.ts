const unitSeconds = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const

/** Formats how long ago a time was, in the user's language: "2 hours ago". */
export function relativeTime(language: string, time: number, now: number): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto" })
  const seconds = Math.round((time - now) / 1000)
  // Rounds future times and truncates past ones, so that a just selected week is still a week.
  const whole = seconds > 0 ? Math.round : Math.trunc
  for (const [unit, size] of unitSeconds) {
    if (Math.abs(seconds) >= size) return format.format(whole(seconds / size), unit)
  }
  return format.format(0, "second")
}
