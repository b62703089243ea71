import { bindHandlers } from "../../../api/method.ts"
import { CoreActions } from "../../../gen/core/resources/action/v3alpha/action_service_pb.ts"
import type { ExecutionTargetType } from "../../../gen/core/resources/action/v3alpha/execution_pb.ts"
import { fieldError } from "../../../kernel/fault.ts"
import { parsePage } from "../../../kernel/page.ts"
import { toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { toCondition } from "../condition.ts"
import { setExecution } from "../execution.ts"
import { type ListedExecution, searchExecutions } from "../list.ts"
import type { ExecutionEntry } from "../model.ts"
import {
  conditionLists,
  executionFilterOf,
  executionSort,
  parseConditionId,
} from "./v2-shared-messages.ts"
import {
  ascending,
  details,
  listDetails,
  ownerOf,
  requireCalledInstance,
} from "./v3alpha-details.ts"

export const v3alpha = bindHandlers<Cx>()(CoreActions, {
  setExecution: async ({ instance, condition, execution }, cx) => {
    const entries = (execution?.targets ?? []).map((each) => entryOf(cx, each))
    const set = await setExecution(
      requireCalledInstance(cx, instance),
      parseConditionId(cx, condition),
      entries,
    )
    const { version, changed } = set
    return {
      details: { sequence: BigInt(version), changeDate: toTimestamp(changed), owner: ownerOf(cx) },
    }
  },
  searchExecutions: ({ instance, query, sortingColumn, filters }, cx) => {
    const found = searchExecutions(requireCalledInstance(cx, instance), {
      page: parsePage(ascending(query)),
      sort: executionSort(sortingColumn),
      filters: filters.map((each) => executionFilterOf(cx, each)),
    })
    return {
      details: listDetails(cx, found),
      result: found.rows.map((row) => toExecution(cx, row)),
    }
  },
  ...conditionLists,
})

function entryOf(cx: Cx, { type }: ExecutionTargetType): ExecutionEntry {
  if (type.case === "target") return { type: "target", target: type.value }
  if (type.case === "include") return { type: "include", target: parseConditionId(cx, type.value) }
  throw fieldError(
    "execution.target_missing",
    "execution.targets",
    "must be one of: target, include",
  )
}

const toExecution = (cx: Cx, row: ListedExecution) => ({
  details: details(cx, row),
  condition: toCondition(row.id),
  execution: { targets: row.targets.map(toEntry) },
})

const toEntry = ({ type, target }: ExecutionEntry) =>
  type === "target"
    ? ({ type: { case: "target", value: target } } as const)
    : ({ type: { case: "include", value: toCondition(target) } } as const)
