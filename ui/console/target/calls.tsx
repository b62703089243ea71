import { durationMs, timestampDate } from "@bufbuild/protobuf/wkt"
import {
  DiagnosisService,
  type TargetCall,
} from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { Alert, Badge, toSentence } from "../../kit/index.ts"
import { Clip, type ListColumn, SectionList, Time, toPage } from "../list/index.ts"
import { language, t, useRead } from "../shell/index.ts"

const { listTargetCalls } = DiagnosisService.method

type TargetCallsProps = { readonly targetId?: string }

/** The latest calls and their responses, updated live. */
export function TargetCalls({ targetId = "" }: TargetCallsProps) {
  return (
    <SectionList
      name="calls"
      live
      unsearched
      title={t("calls.title")}
      none={t("calls.none")}
      method={listTargetCalls}
      toRequest={({ offset, limit }) => ({ targetId, pagination: { offset, limit } })}
      find={({ calls, pagination }) => toPage(calls, pagination)}
      columns={callColumns(targetId === "")}
      keyOf={({ requestId, targetId: id, creationDate }) =>
        `${requestId} ${id} ${creationDate?.seconds} ${creationDate?.nanos}`
      }
    />
  )
}

const callColumns = (isNamed: boolean): readonly ListColumn<TargetCall>[] => [
  { label: t("calls.at"), cell: ({ condition }) => <code>{condition}</code> },
  ...(isNamed
    ? [
        {
          label: t("calls.target"),
          cell: ({ targetName }: TargetCall) => <Clip text={targetName} />,
        },
      ]
    : []),
  { label: t("calls.answer"), cell: (call) => <CallResult call={call} /> },
  {
    label: t("calls.took"),
    cell: ({ duration }) => `${Math.round(duration ? durationMs(duration) : 0)} ms`,
  },
  { label: t("history.when"), cell: ({ creationDate }) => <Time at={creationDate} /> },
]

/** The status, or why the call failed; details are expandable. */
function CallResult({
  call: { status, answer, error, passedOver },
}: {
  readonly call: TargetCall
}) {
  return (
    <div className="call">
      <span className="badges">
        <Badge tone={error ? "warning" : "done"}>
          {status > 0 ? status : t("calls.no_answer")}
        </Badge>
        {passedOver && <Badge>{t("calls.passed_over")}</Badge>}
      </span>
      {error && (
        <span className="quiet small" lang="en">
          {toSentence(error)}
        </span>
      )}
      {answer && (
        <details className="small">
          <summary>{t("calls.body")}</summary>
          <pre className="snippet">
            <code>{answer}</code>
          </pre>
        </details>
      )}
    </div>
  )
}

/** Targets that are temporarily not called, with the reason. */
export function PausedTargets({ targetId = "" }: TargetCallsProps) {
  const { resting, calls } = useRead(listTargetCalls, { targetId, pagination: { limit: 50 } })
  if (resting.length === 0) return null
  const time = new Intl.DateTimeFormat(language, { timeStyle: "medium" })
  const nameOf = (id: string) => calls.find((call) => call.targetId === id)?.targetName ?? id
  return (
    <Alert tone="warning" title={t("calls.resting")}>
      <ul className="alert-list">
        {resting.map(({ targetId: id, until, error }) => (
          <li key={id}>
            <bdi>{nameOf(id)}</bdi> (
            {t("calls.until", { time: until ? time.format(timestampDate(until)) : "" })}):{" "}
            <span lang="en">{error}</span>
          </li>
        ))}
      </ul>
    </Alert>
  )
}
