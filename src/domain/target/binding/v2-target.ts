import type { MessageInitShape } from "@bufbuild/protobuf"
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import { ActionService } from "../../../gen/core/action/v2/action_service_pb.ts"
import { PayloadType, type TargetSchema } from "../../../gen/core/action/v2/target_pb.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at, deletion, pagination } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { addTarget, changeTarget, removeTarget } from "../commands.ts"
import { findTarget, searchTargets, type TargetRow } from "../list.ts"
import type { PayloadType as Payload } from "../model.ts"
import { newTargetOf, targetChangeOf, targetFilterOf, targetSort, toKind } from "./v2-message.ts"

export const v2 = share<Cx>()(ActionService, {
  createTarget: async ({ payloadType, ...req }, cx) => {
    const payload = payloads[payloadType] ?? "json"
    const target = { ...newTargetOf(req), payloadType: payload }
    const { receipt, signingKey } = await addTarget(cx, target)
    return { id: receipt.id, creationDate: at(receipt.created), signingKey }
  },
  updateTarget: async ({ id, payloadType, ...req }, cx) => {
    const payload = payloads[payloadType]
    const { receipt, signingKey } = await changeTarget(cx, id, {
      ...targetChangeOf(req),
      ...(payload && { payloadType: payload }),
      overlapMs: req.expirationSigningKey && durationMs(req.expirationSigningKey),
    })
    return {
      changeDate: at(receipt.changed),
      ...(signingKey !== undefined && { signingKey }),
    }
  },
  deleteTarget: async ({ id }, cx) => deletion(await removeTarget(cx, id)),
  getTarget: ({ id }, cx) => ({ target: toTarget(findTarget(cx, id)) }),
  listTargets: (req, cx) => {
    const found = searchTargets(cx, {
      page: pageOf(req.pagination),
      sort: targetSort(req.sortingColumn),
      filters: req.filters.map(targetFilterOf),
    })
    return { pagination: pagination(found), targets: found.rows.map(toTarget) }
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
  creationDate: at(row.created),
  changeDate: at(row.changed),
  timeout: durationFromMs(row.timeoutMs),
  targetType: toKind(row),
  payloadType: payloadNumbers[row.payloadType],
})
