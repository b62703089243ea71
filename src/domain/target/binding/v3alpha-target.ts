import type { MessageInitShape } from "@bufbuild/protobuf"
import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import { CoreActions } from "../../../gen/core/resources/action/v3alpha/action_service_pb.ts"
import type { GetTargetSchema } from "../../../gen/core/resources/action/v3alpha/target_pb.ts"
import { fieldError } from "../../../kernel/fault.ts"
import { parsePage } from "../../../kernel/page.ts"
import type { Cx } from "../../../store/index.ts"
import { addTarget, changeTarget, removeTarget } from "../commands.ts"
import { findTarget, searchTargets, type TargetRow } from "../list.ts"
import {
  parseNewTarget,
  parseTargetUpdate,
  targetFilterOf,
  targetSort,
  toTargetType,
} from "./v2-shared-messages.ts"
import { ascending, details, listDetails, requireCalledInstance } from "./v3alpha-details.ts"

export const v3alpha = bindHandlers<Cx>()(CoreActions, {
  createTarget: async ({ instance, target }, cx) => {
    if (!target) throw fieldError("target.missing_in_request", "target", "is required")
    const { receipt, signingKey } = await addTarget(requireCalledInstance(cx, instance), {
      ...parseNewTarget(target),
      payloadType: "json",
    })
    return { details: details(cx, receipt), signingKey }
  },
  patchTarget: async ({ instance, id, target }, cx) => {
    const { receipt, signingKey } = await changeTarget(requireCalledInstance(cx, instance), id, {
      ...parseTargetUpdate(target ?? {}),
      ...(target?.regenerateSigningKey && { overlapMs: 0 }),
    })
    return { details: details(cx, receipt), ...(signingKey !== undefined && { signingKey }) }
  },
  deleteTarget: async ({ instance, id }, cx) => {
    const receipt = await removeTarget(requireCalledInstance(cx, instance), id)
    return receipt ? { details: details(cx, receipt) } : {}
  },
  getTarget: ({ instance, id }, cx) => ({
    target: toTarget(cx, findTarget(requireCalledInstance(cx, instance), id)),
  }),
  searchTargets: ({ instance, query, sortingColumn, filters }, cx) => {
    const found = searchTargets(requireCalledInstance(cx, instance), {
      page: parsePage(ascending(query)),
      sort: targetSort(sortingColumn),
      filters: filters.map(targetFilterOf),
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
    name: row.name,
    endpoint: row.endpoint,
    timeout: durationFromMs(row.timeoutMs),
    targetType: toTargetType(row),
  },
})
