import { book } from "../../../api/book.ts"
import { share } from "../../../api/method.ts"
import { ActionService } from "../../../gen/core/action/v2/action_service_pb.ts"
import {
  ExecutionFieldName,
  type ExecutionSearchFilter,
  ExecutionType,
} from "../../../gen/core/action/v2/execution_pb.ts"
import { namesOfType } from "../../../kernel/event/name.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at, filterMissingError, meaning, pagination } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { blockedAt } from "../blocked.ts"
import { conditionOf, functions, type Known, type Said, toCondition } from "../condition.ts"
import { setExecution } from "../execution.ts"
import { type ExecutionFilter, type Listed, searchExecutions } from "../list.ts"

export const v2 = share<Cx>()(ActionService, {
  setExecution: async ({ condition, targets }, cx) => {
    const entries = targets.map((target) => ({ type: "target", target }) as const)
    const { changed } = await setExecution(cx, idOf(cx, condition), entries)
    return { setDate: at(changed) }
  },
  listExecutions: (req, cx) => {
    const found = searchExecutions(cx, {
      page: pageOf(req.pagination),
      sort: meaning(columns, req.sortingColumn ?? ExecutionFieldName.UNSPECIFIED),
      filters: req.filters.map((each) => filterOf(cx, each)),
    })
    const executions = found.rows.map((row) => ({
      ...toExecution(row),
      blockedTargets: blockedAt(cx, row.id).map(({ targetId, userIds }) => ({
        ...{ targetId, userIds: [...userIds] },
      })),
    }))
    return { pagination: pagination(found), executions }
  },
  listExecutionFunctions: () => ({ functions: [...functions] }),
  listExecutionMethods: () => ({ methods: methodNames }),
  listExecutionServices: () => ({ services: serviceNames }),
})

/** Every service of the book, and every method of these, as their descriptors say. */
export const serviceNames = book.map(({ typeName }) => typeName).toSorted()
export const methodNames = book
  .flatMap(({ typeName, methods }) => methods.map(({ name }) => `/${typeName}/${name}`))
  .toSorted()

const named = { methods: new Set(methodNames), services: new Set<string>(serviceNames) }

/** The id of a condition; faults where it names something that is not there. */
export function idOf(cx: Cx, said: Said | undefined): string {
  const events = cx.store.eventTypes().types.flatMap(namesOfType)
  const known: Known = { ...named, events }
  return conditionOf(said, known)
}

/** What is included is named by what it comes to: this version knows only targets. */
const toExecution = ({ id, created, changed, called }: Listed) => ({
  condition: toCondition(id),
  ...{ creationDate: at(created), changeDate: at(changed), targets: [...called] },
})

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
