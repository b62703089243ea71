import type { MessageInitShape } from "@bufbuild/protobuf"
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import { ActionService } from "../../../gen/core/action/v2/action_service_pb.ts"
import { PayloadType, type TargetSchema } from "../../../gen/core/action/v2/target_pb.ts"
import { parsePage } from "../../../kernel/page.ts"
import { toDeletion, toPagination, toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { addTarget, changeTarget, removeTarget } from "../commands.ts"
import { findTarget, searchTargets, type TargetRow } from "../list.ts"
import type { PayloadType as Payload } from "../model.ts"
import {
  parseNewTarget,
  parseTargetUpdate,
  targetFilterOf,
  targetSort,
  toTargetType,
} from "./v2-shared-messages.ts"

export const v2 = bindHandlers<Cx>()(ActionService, {
  createTarget: async ({ payloadType, ...req }, cx) => {
    const payload = payloads[payloadType] ?? "json"
    const target = { ...parseNewTarget(req), payloadType: payload }
    const { receipt, signingKey } = await addTarget(cx, target)
    return { id: receipt.id, creationDate: toTimestamp(receipt.created), signingKey }
  },
  updateTarget: async ({ id, payloadType, ...req }, cx) => {
    const payload = payloads[payloadType]
    const { receipt, signingKey } = await changeTarget(cx, id, {
      ...parseTargetUpdate(req),
      ...(payload && { payloadType: payload }),
      overlapMs: req.expirationSigningKey && durationMs(req.expirationSigningKey),
    })
    return {
      changeDate: toTimestamp(receipt.changed),
      ...(signingKey !== undefined && { signingKey }),
    }
  },
  deleteTarget: async ({ id }, cx) => toDeletion(await removeTarget(cx, id)),
  getTarget: ({ id }, cx) => ({ target: toTarget(findTarget(cx, id)) }),
  listTargets: (req, cx) => {
    const found = searchTargets(cx, {
      page: parsePage(req.pagination),
      sort: targetSort(req.sortingColumn),
      filters: req.filters.map(targetFilterOf),
    })
    return { pagination: toPagination(found), targets: found.rows.map(toTarget) }
  },
})

const payloads: Readonly<Partial<Record<PayloadType, Payload>>> = {
  [PayloadType.JSON]: "json",
  [PayloadType.JWT]: "jwt",
  [PayloadType.JWE]: "jwe",
}
const payloadNumbers = {
  json: PayloadType.JSON,
  jwt: PayloadType.JWT,
  jwe: PayloadType.JWE,
} as const satisfies Record<Payload, PayloadType>

const toTarget = (row: TargetRow): MessageInitShape<typeof TargetSchema> => ({
  id: row.id,
  name: row.name,
  endpoint: row.endpoint,
  creationDate: toTimestamp(row.created),
  changeDate: toTimestamp(row.changed),
  timeout: durationFromMs(row.timeoutMs),
  targetType: toTargetType(row),
  payloadType: payloadNumbers[row.payloadType],
})
