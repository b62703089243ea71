import { bindHandlers } from "../../../api/method.ts"
import { ActionService } from "../../../gen/core/action/v2/action_service_pb.ts"
import { parsePage } from "../../../kernel/page.ts"
import { toPagination, toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { blockedTargetsOf } from "../blocked.ts"
import { toCondition } from "../condition.ts"
import { setExecution } from "../execution.ts"
import { type ListedExecution, searchExecutions } from "../list.ts"
import {
  conditionLists,
  executionFilterOf,
  executionSort,
  parseConditionId,
} from "./v2-shared-messages.ts"

export const v2 = bindHandlers<Cx>()(ActionService, {
  setExecution: async ({ condition, targets }, cx) => {
    const entries = targets.map((target) => ({ type: "target", target }) as const)
    const { changed } = await setExecution(cx, parseConditionId(cx, condition), entries)
    return { setDate: toTimestamp(changed) }
  },
  listExecutions: (req, cx) => {
    const found = searchExecutions(cx, {
      page: parsePage(req.pagination),
      sort: executionSort(req.sortingColumn),
      filters: req.filters.map((each) => executionFilterOf(cx, each)),
    })
    const executions = found.rows.map((row) => ({
      ...toExecution(row),
      blockedTargets: blockedTargetsOf(cx, row.id).map(({ targetId, userIds }) => ({
        targetId,
        userIds: [...userIds],
      })),
    }))
    return { pagination: toPagination(found), executions }
  },
  ...conditionLists,
})

/** Included executions are resolved to their targets, because this version has no includes. */
const toExecution = ({ id, created, changed, called }: ListedExecution) => ({
  condition: toCondition(id),
  creationDate: toTimestamp(created),
  changeDate: toTimestamp(changed),
  targets: [...called],
})
