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
import { PagePart, t, useRead } from "../shell/index.ts"
import { Differences } from "./differences.tsx"
import type { HistoryResource } from "./history-resource.ts"

type ChangesSinceProps = { readonly of: HistoryResource; readonly change: Change }
type Moment = MessageInitShape<typeof MomentSchema>

/** Compares a resource right after a change, or at any time, with its current state. */
export function ChangesSinceButton({ of, change }: ChangesSinceProps) {
  const [typed, setTyped] = useState("")
  const time = new Date(typed).getTime()
  const at: Moment = Number.isNaN(time)
    ? { moment: { case: "position", value: change.position } }
    : { moment: { case: "time", value: timestampFromMs(time) } }
  const shown = typed || toLocalInput(change)
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
          <PagePart key={shown} rows={2}>
            <ChangesSince of={of} at={at} />
          </PagePart>
          <Disclosure summary={t("history.whole")}>
            <PagePart key={shown} rows={4}>
              <FullState of={of} at={at} />
            </PagePart>
          </Disclosure>
          <div className="form-actions">
            <Button onClick={close}>{t("history.close")}</Button>
          </div>
        </>
      )}
    </DialogOpener>
  )
}

type ComparisonProps = { readonly of: HistoryResource; readonly at: Moment }

function ChangesSince({ of, at }: ComparisonProps) {
  const { existed, differences } = useRead(HistoryService.method.getDifferences, {
    resource: { resource: of },
    from: at,
  })
  if (!existed) return <p className="quiet">{t("history.not_yet")}</p>
  if (differences.length === 0) return <p className="quiet">{t("history.same")}</p>
  return <Differences rows={differences} />
}

function FullState({ of, at }: ComparisonProps) {
  const { differences } = useRead(HistoryService.method.getDifferences, {
    resource: { resource: of },
    to: at,
  })
  if (differences.length === 0) return <p className="quiet">{t("history.not_yet")}</p>
  return <Differences rows={differences} />
}

/** A time for a datetime-local input: local time, to the second. */
function toLocalInput({ changeDate }: Change): string {
  if (!changeDate) return ""
  const date = new Date(timestampMs(changeDate))
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 19)
}
