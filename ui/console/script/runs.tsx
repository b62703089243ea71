import { durationMs } from "@bufbuild/protobuf/wkt"
import {
  DiagnosisService,
  type ScriptLog,
  ScriptLogLevel,
  type ScriptRun,
} from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { Badge } from "../../kit/index.ts"
import { Clip, type ListColumn, SectionList, Time, toPage } from "../list/index.ts"
import { t } from "../shell/index.ts"

type RunsProps = { readonly organizationId: string; readonly actionId?: string }

/** The latest runs with their logs and errors, updated live. */
export function Runs({ organizationId, actionId = "" }: RunsProps) {
  return (
    <SectionList
      name="runs"
      live
      unsearched
      title={t("script.runs")}
      none={t("script.no_runs")}
      method={DiagnosisService.method.listScriptRuns}
      toRequest={({ offset, limit }) => ({
        organizationId,
        actionId,
        pagination: { offset, limit },
      })}
      find={({ runs, pagination }) => toPage(runs, pagination)}
      columns={runColumns()}
      keyOf={(run) => `${run.requestId} ${run.actionId} ${run.creationDate?.nanos}`}
    />
  )
}

const runColumns = (): readonly ListColumn<ScriptRun>[] => [
  { label: t("field.name"), cell: ({ actionName }) => <Clip text={actionName} /> },
  { label: t("script.outcome"), cell: (run) => <Outcome {...run} /> },
  {
    label: t("script.took"),
    cell: ({ duration }) => `${Math.round(duration ? durationMs(duration) : 0)} ms`,
  },
  { label: t("history.when"), cell: ({ creationDate }) => <Time at={creationDate} /> },
]

type OutcomeProps = { readonly error: string; readonly logs: readonly ScriptLog[] }

/** Success or error of a run, and its logs. */
export function Outcome({ error, logs }: OutcomeProps) {
  return (
    <div className="call">
      <span>
        <Badge tone={error ? "warning" : "done"}>
          {t(error ? "script.failed" : "script.done")}
        </Badge>
      </span>
      {error && <span lang="en">{error}</span>}
      {logs.length > 0 && (
        <pre className="snippet">
          <code>
            {logs.map(({ level, text }) => `${levelPrefixes[level] ?? ""}${text}`).join("\n")}
          </code>
        </pre>
      )}
    </div>
  )
}

const levelPrefixes: Readonly<Record<number, string>> = {
  [ScriptLogLevel.WARN]: "warn: ",
  [ScriptLogLevel.ERROR]: "error: ",
}
