import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { FailedEvent } from "../../../src/gen/core/admin/v1/event_pb.ts"
import { HistoryService } from "../../../src/gen/core/history/v2/history_service_pb.ts"
import { type Column, Table } from "../../kit/index.ts"
import { ActionButton, ConfirmButton } from "../form/index.ts"
import { actionColumn, Time } from "../list/index.ts"
import { call, Section, t, useRead } from "../shell/index.ts"

const { listFailedEvents, removeFailedEvent } = AdminService.method
const { retryFailedEvents } = HistoryService.method

/** Events whose processing failed and is retried; hidden if there are none. */
export function FailedEvents() {
  const { result } = useRead(listFailedEvents)
  if (result.length === 0) return null
  return (
    <Section title={t("failed_events.title")}>
      <p className="quiet section-lead">{t("failed_events.lead")}</p>
      <Table
        caption={t("failed_events.title")}
        columns={failedEventColumns()}
        rows={result}
        keyOf={({ viewName, failedSequence }) => `${viewName} ${failedSequence}`}
      />
      <div className="row">
        <ActionButton
          needs={retryFailedEvents}
          label={t("failed_events.retry_all")}
          act={() => call(retryFailedEvents, {})}
        />
      </div>
    </Section>
  )
}

const failedEventColumns = (): readonly Column<FailedEvent>[] => [
  {
    label: t("failed_events.by"),
    cell: ({ viewName, errorMessage }) => (
      <div className="call">
        <code>{viewName}</code>
        <span className="quiet small" lang="en">
          {errorMessage}
        </span>
      </div>
    ),
  },
  { label: t("events.position"), cell: ({ failedSequence }) => String(failedSequence) },
  { label: t("failed_events.count"), cell: ({ failureCount }) => String(failureCount) },
  {
    label: t("failed_events.last"),
    cell: ({ lastFailed }) =>
      lastFailed ? <Time at={lastFailed} /> : <span>{t("failed_events.retrying")}</span>,
  },
  actionColumn(({ database, viewName, failedSequence }) => (
    <>
      <ActionButton
        small
        needs={retryFailedEvents}
        label={t("failed_events.retry")}
        act={() => call(retryFailedEvents, { viewName, failedSequence })}
      />
      <ConfirmButton
        small
        needs={removeFailedEvent}
        subject={`${viewName} ${failedSequence}`}
        consequence={t("failed_events.remove_text")}
        act={() => call(removeFailedEvent, { database, viewName, failedSequence })}
      />
    </>
  )),
]
