import type { MessageInitShape } from "@bufbuild/protobuf"
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import { CoreActions } from "../../../gen/core/resources/action/v3alpha/action_service_pb.ts"
import type {
  GetTargetSchema,
  TargetSearchFilter,
} from "../../../gen/core/resources/action/v3alpha/target_pb.ts"
import { fieldError } from "../../../kernel/fault.ts"
import { pageOf } from "../../../kernel/page.ts"
import { filterMissingError, meaning } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { addTarget, changeTarget, removeTarget } from "../commands.ts"
import {
  findTarget,
  searchTargets,
  type TargetFilter,
  type TargetRow,
  type TargetSort,
} from "../list.ts"
import { kindOf, toKind, typeMissingError } from "./v2-target.ts"
import { ascending, details, listDetails, on } from "./v3alpha-details.ts"

export const v3alpha = share<Cx>()(CoreActions, {
  createTarget: async ({ instance, target }, cx) => {
    if (!target) throw fieldError("target.missing_in_request", "target", "must be given")
    const kind = kindOf(target.targetType)
    if (!kind) throw typeMissingError()
    const { name, endpoint, timeout } = target
    const { receipt, signingKey } = await addTarget(on(cx, instance), {
      ...{ name, endpoint, timeoutMs: timeout ? durationMs(timeout) : 0, ...kind },
      payloadType: "json",
    })
    return { details: details(cx, receipt), signingKey }
  },
  patchTarget: async ({ instance, id, target }, cx) => {
    const { name, endpoint, timeout, targetType, regenerateSigningKey } = target ?? {}
    const { receipt, signingKey } = await changeTarget(on(cx, instance), id, {
      ...(name !== undefined && { name }),
      ...(endpoint !== undefined && { endpoint }),
      ...(timeout && { timeoutMs: durationMs(timeout) }),
      ...(targetType && kindOf(targetType)),
      ...(regenerateSigningKey && { overlapMs: 0 }),
    })
    return { details: details(cx, receipt), ...(signingKey !== undefined && { signingKey }) }
  },
  deleteTarget: async ({ instance, id }, cx) => {
    const receipt = await removeTarget(on(cx, instance), id)
    return receipt ? { details: details(cx, receipt) } : {}
  },
  getTarget: ({ instance, id }, cx) => ({ target: toTarget(cx, findTarget(on(cx, instance), id)) }),
  searchTargets: ({ instance, query, sortingColumn, filters }, cx) => {
    const found = searchTargets(on(cx, instance), {
      page: pageOf(ascending(query)),
      sort: meaning(columns, sortingColumn),
      filters: filters.map(filterOf),
    })
    return {
      details: listDetails(cx, found),
      result: found.rows.map((row) => toTarget(cx, row)),
    }
  },
})

const toTarget = (cx: Cx, row: TargetRow): MessageInitShape<typeof GetTargetSchema> => ({
  details: details(cx, row),
  config: {
    ...{ name: row.name, endpoint: row.endpoint, timeout: durationFromMs(row.timeoutMs) },
    targetType: toKind(row),
  },
})

const columns: readonly TargetSort[] = [
  ...(["created", "id", "created", "changed", "name", "targetType", "endpoint"] as const),
  ...(["timeoutMs", "interruptOnError"] as const),
]

function filterOf({ filter }: TargetSearchFilter): TargetFilter {
  switch (filter.case) {
    case "targetNameFilter":
      return { name: filter.value.targetName, method: filter.value.method }
    case "inTargetIdsFilter":
      return { ids: filter.value.targetIds }
    default:
      throw filterMissingError()
  }
}
