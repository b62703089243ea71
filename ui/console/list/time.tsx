import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import { language, t } from "../shell/index.ts"

const steps = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const

/** How long ago, in a reader's words: "2 hours ago". */
export function agoOf(language: string, time: number, now: number): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto" })
  const seconds = Math.round((time - now) / 1000)
  // A week that was chosen a moment ago is still a week; what is past has to be over.
  const whole = seconds > 0 ? Math.round : Math.trunc
  for (const [unit, size] of steps) {
    if (Math.abs(seconds) >= size) return format.format(whole(seconds / size), unit)
  }
  return format.format(0, "second")
}

/** The server says the year 9999 where nothing ends by itself. */
export const never = Date.UTC(9999, 0)

type TimeProps = { readonly at: Timestamp | undefined }

/** A time as people say it; the exact one on hover. */
export function Time({ at }: TimeProps) {
  if (!at) return null
  const ms = timestampMs(at)
  if (ms >= never) return <>{t("detail.never")}</>
  const exact = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "medium" })
  return (
    <time dateTime={new Date(ms).toISOString()} title={exact.format(ms)}>
      {agoOf(language, ms, Date.now())}
    </time>
  )
}
