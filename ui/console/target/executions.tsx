import { ActionService } from "../../../src/gen/core/action/v2/action_service_pb.ts"
import {
  type Execution,
  ExecutionFieldName,
  ExecutionType,
} from "../../../src/gen/core/action/v2/execution_pb.ts"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { Alert, Badge } from "../../kit/index.ts"
import { defineForm, formatOptions, OrderedSelect, verbatim } from "../form/index.ts"
import {
  Clip,
  Collection,
  HistoryButton,
  paginationOf,
  streamResource,
  toPage,
  useFilterChips,
} from "../list/index.ts"
import { call, t, useRead, useReadIfAllowed } from "../shell/index.ts"
import {
  type ConditionName,
  formatCondition,
  type Moment,
  moments,
  parseCondition,
  toCondition,
} from "./condition.ts"

const { listExecutions, setExecution, listTargets } = ActionService.method
const { listExecutionFunctions, listExecutionMethods, listExecutionServices } = ActionService.method

const executionTypes = {
  request: ExecutionType.REQUEST,
  response: ExecutionType.RESPONSE,
  function: ExecutionType.FUNCTION,
  event: ExecutionType.EVENT,
} as const

const typeFilter = (executionType: ExecutionType) =>
  ({ case: "executionTypeFilter", value: { executionType } }) as const

/** Executions: the targets that are called at each moment, in order. */
export function Executions() {
  const { targets } = useRead(listTargets, { pagination: { limit: 1000 } })
  const label = (one: Moment | "all") => t(one === "all" ? "filter.all" : `executions.${one}`)
  const { selected: chosen, filter } = useFilterChips(
    "when",
    ["all", ...moments],
    label,
    "executions",
  )
  const options = targets.map(({ id, name }) => ({ value: id, label: name }))
  const nameOf = (id: string) => options.find(({ value }) => value === id)?.label ?? id
  return (
    <Collection
      family="executions"
      unsearched
      method={listExecutions}
      toRequest={(query) => ({
        pagination: paginationOf(query),
        sortingColumn: ExecutionFieldName.ID,
        filters: chosen === "all" ? [] : [{ filter: typeFilter(executionTypes[chosen]) }],
      })}
      find={({ executions, pagination }) => toPage(executions, pagination)}
      {...filter}
      columns={[
        {
          label: t("executions.when"),
          cell: ({ condition }) => <ConditionText at={parseCondition(condition)} />,
        },
        {
          label: t("executions.targets"),
          cell: ({ targets: called, blockedTargets }) => (
            <>
              <Clip text={called.map(nameOf).join(" → ")} />
              {blockedTargets.map(({ targetId }) => (
                <Alert key={targetId} tone="warning">
                  {t("executions.blocked", { target: nameOf(targetId) })}
                </Alert>
              ))}
            </>
          ),
        },
      ]}
      keyOf={executionKey}
      nameOf={executionKey}
      needs={{ create: setExecution, edit: setExecution, remove: setExecution }}
      more={(row) => (
        <HistoryButton
          of={streamResource("execution", executionKey(row))}
          name={executionKey(row)}
        />
      )}
      form={(row) => executionForm(options, row)}
      remove={({ condition }) =>
        call(setExecution, { condition: toCondition(parseCondition(condition)), targets: [] })
      }
    />
  )
}

const executionKey = ({ condition }: Execution) => formatCondition(parseCondition(condition))

/** The moment and name of a condition. */
export function ConditionText({ at: { moment, name } }: { readonly at: ConditionName }) {
  return (
    <span className="badges">
      <Badge>{t(`executions.${moment}`)}</Badge>
      {name ? <code>{name}</code> : t("executions.all")}
    </span>
  )
}

type TargetOptions = Parameters<typeof OrderedSelect>[0]["options"]

const executionForm = (options: TargetOptions, row: Execution | undefined) =>
  defineForm<{ moment: Moment; name: string; targets: readonly string[] }, unknown>({
    initial: {
      ...(row ? parseCondition(row.condition) : { moment: "request" as const, name: "" }),
      targets: row?.targets ?? [],
    },
    refusals: { name: ["execution.condition"] },
    save: ({ targets, moment, name }) =>
      call(setExecution, {
        condition: toCondition({ moment, name: name.trim() }),
        targets: [...targets],
      }),
    disabled: ({ targets }) => targets.length === 0,
    fields: ({ chips, text, values: { moment, targets }, change, contested }) => [
      !row &&
        chips("moment", t("executions.when"), {
          of: moments,
          label: (one) => t(`executions.${one}`),
        }),
      !row && <NameSuggestions key="names" moment={moment} />,
      !row &&
        text("name", t(`executions.name.${moment}`), {
          list: listId,
          ...verbatim,
          required: moment === "function",
          ...(moment !== "function" && { hint: t("executions.name_hint") }),
        }),
      options.length === 0 && (
        <Alert key="none" tone="warning">
          {t("executions.no_target")}
        </Alert>
      ),
      contested(
        "targets",
        t("executions.targets"),
        <OrderedSelect
          label={t("executions.targets")}
          hint={t("executions.targets_hint")}
          options={options}
          values={targets}
          onChange={(chosen) => change({ targets: chosen })}
        />,
        formatOptions(options),
      ),
    ],
  })

const listId = "execution-names"

/** Suggests names for a moment while typing. */
function NameSuggestions({ moment }: { readonly moment: Moment }) {
  const { functions } = useRead(listExecutionFunctions)
  const { services } = useRead(listExecutionServices)
  const { methods } = useRead(listExecutionMethods)
  const { eventTypes = [] } = useReadIfAllowed(AdminService.method.listEventTypes) ?? {}
  const operations = [...services, ...methods.map((method) => method.replace(/^\//, ""))]
  const events = eventTypes.map(({ type }) => type)
  const offered = { request: operations, response: operations, function: functions, event: events }
  return (
    <datalist id={listId}>
      {offered[moment].map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  )
}
