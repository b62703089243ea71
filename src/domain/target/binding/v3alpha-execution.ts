import { share } from "../../../api/method.ts"
import { CoreActions } from "../../../gen/core/resources/action/v3alpha/action_service_pb.ts"
import type { ExecutionTargetType } from "../../../gen/core/resources/action/v3alpha/execution_pb.ts"
import { fieldError } from "../../../kernel/fault.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { toCondition } from "../condition.ts"
import { setExecution } from "../execution.ts"
import { type Listed, searchExecutions } from "../list.ts"
import type { Entry } from "../model.ts"
import { conditionLists, executionFilterOf, executionSort, idOf } from "./v2-message.ts"
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
