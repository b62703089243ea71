import { ActionService } from "../../../src/gen/core/action/v2/action_service_pb.ts"
import {
  type Execution,
  ExecutionFieldName,
  ExecutionType,
} from "../../../src/gen/core/action/v2/execution_pb.ts"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { Alert, Badge } from "../../kit/index.ts"
import { formOf, namesBy, OrderedSelect, verbatim } from "../form/index.ts"
import {
  Clip,
  Collection,
  found,
  HistoryButton,
  pageOf,
  streamOf,
  useFilterChips,
} from "../list/index.ts"
import { call, t, useRead, useReadIfAllowed } from "../shell/index.ts"
import { type At, atOf, conditionOf, type Moment, moments, textOf } from "./condition.ts"

const { listExecutions, setExecution, listTargets } = ActionService.method
const { listExecutionFunctions, listExecutionMethods, listExecutionServices } = ActionService.method

const types = {
  request: ExecutionType.REQUEST,
  response: ExecutionType.RESPONSE,
  function: ExecutionType.FUNCTION,
  event: ExecutionType.EVENT,
} as const

const typed = (executionType: ExecutionType) =>
  ({ case: "executionTypeFilter", value: { executionType } }) as const

/** What is called when, in which order. */
export function Executions() {
  const { targets } = useRead(listTargets, { pagination: { limit: 1000 } })
  const words = (one: Moment | "all") => t(one === "all" ? "filter.all" : `executions.${one}`)
  const { chosen, filter } = useFilterChips("when", ["all", ...moments], words, "executions")
  const options = targets.map(({ id, name }) => ({ value: id, label: name }))
  const nameOf = (id: string) => options.find(({ value }) => value === id)?.label ?? id
  return (
    <Collection
      family="executions"
      unsearched
      method={listExecutions}
      ask={(asked) => ({
        pagination: pageOf(asked),
        sortingColumn: ExecutionFieldName.ID,
        filters: chosen === "all" ? [] : [{ filter: typed(types[chosen]) }],
      })}
      find={({ executions, pagination }) => found(executions, pagination)}
      {...filter}
      columns={[
        { label: t("executions.when"), cell: ({ condition }) => <When at={atOf(condition)} /> },
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
      keyOf={keyOf}
      nameOf={keyOf}
      needs={{ create: setExecution, edit: setExecution, remove: setExecution }}
      more={(row) => <HistoryButton of={streamOf("execution", keyOf(row))} name={keyOf(row)} />}
      form={(row) => executionForm(options, row)}
      remove={({ condition }) =>
        call(setExecution, { condition: conditionOf(atOf(condition)), targets: [] })
      }
    />
  )
}

const keyOf = ({ condition }: Execution) => textOf(atOf(condition))

/** When it is, in a word, and of what. */
export function When({ at: { moment, name } }: { readonly at: At }) {
  return (
    <span className="badges">
      <Badge>{t(`executions.${moment}`)}</Badge>
      {name ? <code>{name}</code> : t("executions.all")}
    </span>
  )
}

type Options = Parameters<typeof OrderedSelect>[0]["options"]

const executionForm = (options: Options, row: Execution | undefined) =>
  formOf<{ moment: Moment; name: string; targets: readonly string[] }, unknown>({
    initial: {
      ...(row ? atOf(row.condition) : { moment: "request" as const, name: "" }),
      targets: row?.targets ?? [],
    },
    refusals: { name: ["execution.condition"] },
    save: ({ targets, moment, name }) =>
      call(setExecution, {
        condition: conditionOf({ moment, name: name.trim() }),
        targets: [...targets],
      }),
    disabled: ({ targets }) => targets.length === 0,
    fields: ({ chips, text, values: { moment, targets }, change, contested }) => [
      !row &&
        chips("moment", t("executions.when"), {
          of: moments,
          words: (one) => t(`executions.${one}`),
        }),
      !row && <Names key="names" moment={moment} />,
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
        namesBy(options),
      ),
    ],
  })

const listId = "execution-names"

/** What can be named at a moment, offered while one types. */
function Names({ moment }: { readonly moment: Moment }) {
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
