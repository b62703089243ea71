import { durationMs, timestampDate } from "@bufbuild/protobuf/wkt"
import {
  DiagnosisService,
  type TargetCall,
} from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { Alert, Badge, sentenceOf } from "../../kit/index.ts"
import { Clip, found, type ListColumn, SectionList, Time } from "../list/index.ts"
import { language, t, useRead } from "../shell/index.ts"

const { listTargetCalls } = DiagnosisService.method

type CallsProps = { readonly targetId?: string }

/** The latest calls and what came back, as they come. */
export function Calls({ targetId = "" }: CallsProps) {
  return (
    <SectionList
      name="calls"
      live
      unsearched
      title={t("calls.title")}
      none={t("calls.none")}
      method={listTargetCalls}
      ask={({ offset, limit }) => ({ targetId, pagination: { offset, limit } })}
      find={({ calls, pagination }) => found(calls, pagination)}
      columns={columnsOf(targetId === "")}
      keyOf={({ requestId, targetId: id, creationDate }) =>
        `${requestId} ${id} ${creationDate?.seconds} ${creationDate?.nanos}`
      }
    />
  )
}

const columnsOf = (named: boolean): readonly ListColumn<TargetCall>[] => [
  { label: t("calls.at"), cell: ({ condition }) => <code>{condition}</code> },
  ...(named
    ? [
        {
          label: t("calls.target"),
          cell: ({ targetName }: TargetCall) => <Clip text={targetName} />,
        },
      ]
    : []),
  { label: t("calls.answer"), cell: (call) => <Answer call={call} /> },
  {
    label: t("calls.took"),
    cell: ({ duration }) => `${Math.round(duration ? durationMs(duration) : 0)} ms`,
  },
  { label: t("history.when"), cell: ({ creationDate }) => <Time at={creationDate} /> },
]

/** What came back, else why nothing did; all of it in the disclosure. */
function Answer({ call: { status, answer, error, passedOver } }: { readonly call: TargetCall }) {
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
          {sentenceOf(error)}
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

/** Targets that are left alone for a while, and why. */
export function Resting({ targetId = "" }: CallsProps) {
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
