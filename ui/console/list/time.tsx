import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import { language, relativeTime, serverNow, t } from "../shell/index.ts"

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
      {relativeTime(language, ms, serverNow())}
    </time>
  )
}
