import { share } from "../../../api/method.ts"
import { CoreActions } from "../../../gen/core/resources/action/v3alpha/action_service_pb.ts"
import {
  ExecutionFieldName,
  type ExecutionSearchFilter,
  type ExecutionTargetType,
  ExecutionType,
} from "../../../gen/core/resources/action/v3alpha/execution_pb.ts"
import { fieldError } from "../../../kernel/fault.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at, filterMissingError, meaning } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { functions, toCondition } from "../condition.ts"
import { setExecution } from "../execution.ts"
import { type ExecutionFilter, type Listed, searchExecutions } from "../list.ts"
import type { Entry } from "../model.ts"
import { idOf, methodNames, serviceNames } from "./v2-execution.ts"
import { ascending, details, listDetails, on, ownerOf } from "./v3alpha-details.ts"

export const v3alpha = share<Cx>()(CoreActions, {
  setExecution: async ({ instance, condition, execution }, cx) => {
    const entries = (execution?.targets ?? []).map((each) => entryOf(cx, each))
    const set = await setExecution(on(cx, instance), idOf(cx, condition), entries)
    const { version, changed } = set
    return {
      details: { sequence: BigInt(version), changeDate: at(changed), owner: ownerOf(cx) },
    }
  },
  searchExecutions: ({ instance, query, sortingColumn, filters }, cx) => {
    const found = searchExecutions(on(cx, instance), {
      page: pageOf(ascending(query)),
      sort: meaning(columns, sortingColumn ?? ExecutionFieldName.UNSPECIFIED),
      filters: filters.map((each) => filterOf(cx, each)),
    })
    return {
      details: listDetails(cx, found),
      result: found.rows.map((row) => toExecution(cx, row)),
    }
  },
  listExecutionFunctions: () => ({ functions: [...functions] }),
  listExecutionMethods: () => ({ methods: methodNames }),
  listExecutionServices: () => ({ services: serviceNames }),
})

function entryOf(cx: Cx, { type }: ExecutionTargetType): Entry {
  if (type.case === "target") return { type: "target", target: type.value }
  if (type.case === "include") return { type: "include", target: idOf(cx, type.value) }
  throw fieldError("execution.target_missing", "execution.targets", "must be target or include")
}

const toExecution = (cx: Cx, row: Listed) => ({
  details: details(cx, row),
  condition: toCondition(row.id),
  execution: { targets: row.targets.map(toEntry) },
})

const toEntry = ({ type, target }: Entry) =>
  type === "target"
    ? ({ type: { case: "target", value: target } } as const)
    : ({ type: { case: "include", value: toCondition(target) } } as const)

const columns = {
  [ExecutionFieldName.UNSPECIFIED]: "created",
  [ExecutionFieldName.ID]: "id",
  [ExecutionFieldName.CREATED_DATE]: "created",
  [ExecutionFieldName.CHANGED_DATE]: "changed",
} as const

function filterOf(cx: Cx, { filter }: ExecutionSearchFilter): ExecutionFilter {
  switch (filter.case) {
    case "inConditionsFilter":
      return { conditions: filter.value.conditions.map((each) => idOf(cx, each)) }
    case "executionTypeFilter":
      return { kind: meaning(kinds, filter.value.executionType) }
    case "targetFilter":
      return { target: filter.value.targetId }
    case "includeFilter":
      return { include: idOf(cx, filter.value.include) }
    default:
      throw filterMissingError()
  }
}

const kinds = {
  [ExecutionType.REQUEST]: "request",
  [ExecutionType.RESPONSE]: "response",
  [ExecutionType.EVENT]: "event",
  [ExecutionType.FUNCTION]: "function",
} as const
