import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { useState } from "react"
import {
  type Change,
  HistoryService,
  type MomentSchema,
} from "../../../src/gen/core/history/v2/history_service_pb.ts"
import { Button, Disclosure, TextField } from "../../kit/index.ts"
import { DialogOpener } from "../form/index.ts"
import { Part, t, useRead } from "../shell/index.ts"
import { Differences } from "./differences.tsx"
import type { HistoryResource } from "./history-resource.ts"

type SinceProps = { readonly of: HistoryResource; readonly change: Change }
type Moment = MessageInitShape<typeof MomentSchema>

/** What a thing was right after a change, or at any other moment, beside what it is now. */
export function SinceButton({ of, change }: SinceProps) {
  const [typed, setTyped] = useState("")
  const time = new Date(typed).getTime()
  const at: Moment = Number.isNaN(time)
    ? { moment: { case: "position", value: change.position } }
    : { moment: { case: "time", value: timestampFromMs(time) } }
  const shown = typed || localOf(change)
  return (
    <DialogOpener label={t("history.since")} title={t("history.since_title")}>
      {(close) => (
        <>
          <TextField
            label={t("history.moment")}
            type="datetime-local"
            step={1}
            value={shown}
            onChange={(event) => setTyped(event.target.value)}
          />
          <Part key={shown} rows={2}>
            <Since of={of} at={at} />
          </Part>
          <Disclosure summary={t("history.whole")}>
            <Part key={shown} rows={4}>
              <Whole of={of} at={at} />
            </Part>
          </Disclosure>
          <div className="form-actions">
            <Button onClick={close}>{t("history.close")}</Button>
          </div>
        </>
      )}
    </DialogOpener>
  )
}

type AtProps = { readonly of: HistoryResource; readonly at: Moment }

function Since({ of, at }: AtProps) {
  const { existed, differences } = useRead(HistoryService.method.getDifferences, {
    resource: { resource: of },
    from: at,
  })
  if (!existed) return <p className="quiet">{t("history.not_yet")}</p>
  if (differences.length === 0) return <p className="quiet">{t("history.same")}</p>
  return <Differences rows={differences} />
}

function Whole({ of, at }: AtProps) {
  const { differences } = useRead(HistoryService.method.getDifferences, {
    resource: { resource: of },
    to: at,
  })
  if (differences.length === 0) return <p className="quiet">{t("history.not_yet")}</p>
  return <Differences rows={differences} />
}

/** A time as the browser's own field has it: where the reader is, to the second. */
function localOf({ changeDate }: Change): string {
  if (!changeDate) return ""
  const date = new Date(timestampMs(changeDate))
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 19)
}
