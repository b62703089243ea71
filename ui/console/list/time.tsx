import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import { language, relativeTime, serverNow, t } from "../shell/index.ts"

/** The year 9999, which the server returns for "never expires". */
export const neverMs = Date.UTC(9999, 0)

type TimeProps = { readonly at: Timestamp | undefined }

/** A relative or short time, with the exact time on hover. */
export function Time({ at }: TimeProps) {
  if (!at) return null
  const ms = timestampMs(at)
  if (ms >= neverMs) return <>{t("detail.never")}</>
  const exact = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "medium" })
  return (
    <time dateTime={new Date(ms).toISOString()} title={exact.format(ms)}>
      {relativeTime(language, ms, serverNow())}
    </time>
  )
}
