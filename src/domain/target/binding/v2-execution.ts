import { share } from "../../../api/method.ts"
import { ActionService } from "../../../gen/core/action/v2/action_service_pb.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at, pagination } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { blockedAt } from "../blocked.ts"
import { toCondition } from "../condition.ts"
import { setExecution } from "../execution.ts"
import { type Listed, searchExecutions } from "../list.ts"
import { conditionLists, executionFilterOf, executionSort, idOf } from "./v2-message.ts"

export const v2 = share<Cx>()(ActionService, {
  setExecution: async ({ condition, targets }, cx) => {
    const entries = targets.map((target) => ({ type: "target", target }) as const)
    const { changed } = await setExecution(cx, idOf(cx, condition), entries)
    return { setDate: at(changed) }
  },
  listExecutions: (req, cx) => {
    const found = searchExecutions(cx, {
      page: pageOf(req.pagination),
      sort: executionSort(req.sortingColumn),
      filters: req.filters.map((each) => executionFilterOf(cx, each)),
    })
    const executions = found.rows.map((row) => ({
      ...toExecution(row),
      blockedTargets: blockedAt(cx, row.id).map(({ targetId, userIds }) => ({
        targetId,
        userIds: [...userIds],
      })),
    }))
    return { pagination: pagination(found), executions }
  },
  ...conditionLists,
})

/** What is included is named by what it comes to: this version knows only targets. */
const toExecution = ({ id, created, changed, called }: Listed) => ({
  condition: toCondition(id),
  creationDate: at(created),
  changeDate: at(changed),
  targets: [...called],
})
