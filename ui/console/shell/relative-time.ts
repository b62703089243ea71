const steps = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const

/** How long ago, in a reader's words: "2 hours ago". */
export function relativeTime(language: string, time: number, now: number): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto" })
  const seconds = Math.round((time - now) / 1000)
  // A week that was chosen a moment ago is still a week; what is past has to be over.
  const whole = seconds > 0 ? Math.round : Math.trunc
  for (const [unit, size] of steps) {
    if (Math.abs(seconds) >= size) return format.format(whole(seconds / size), unit)
  }
  return format.format(0, "second")
}
