import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import { ActionService } from "../../../gen/core/action/v2/action_service_pb.ts"
import {
  PayloadType,
  TargetFieldName,
  type TargetSchema,
  type TargetSearchFilter,
} from "../../../gen/core/action/v2/target_pb.ts"
import { fieldError } from "../../../kernel/fault.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at, filterMissingError, meaning, pagination } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { addTarget, changeTarget, removeTarget } from "../commands.ts"
import {
  findTarget,
  searchTargets,
  type TargetFilter,
  type TargetRow,
  type TargetSort,
} from "../list.ts"
import type { PayloadType as Payload } from "../model.ts"

export const v2 = share<Cx>()(ActionService, {
  createTarget: async ({ name, endpoint, timeout, payloadType, targetType }, cx) => {
    const kind = kindOf(targetType)
    if (!kind) throw typeMissingError()
    const { receipt, signingKey } = await addTarget(cx, {
      ...{ name, endpoint, timeoutMs: timeoutOf(timeout), ...kind },
      payloadType: payloads[payloadType] ?? "json",
    })
    return { id: receipt.id, creationDate: at(receipt.created), signingKey }
  },
  updateTarget: async ({ id, name, endpoint, timeout, payloadType, ...req }, cx) => {
    const payload = payloads[payloadType]
    const { receipt, signingKey } = await changeTarget(cx, id, {
      ...(name !== undefined && { name }),
      ...(endpoint !== undefined && { endpoint }),
      ...(timeout && { timeoutMs: durationMs(timeout) }),
      ...(payload && { payloadType: payload }),
      ...kindOf(req.targetType),
      overlapMs: req.expirationSigningKey && durationMs(req.expirationSigningKey),
    })
    return {
      changeDate: at(receipt.changed),
      ...(signingKey !== undefined && { signingKey }),
    }
  },
  deleteTarget: async ({ id }, cx) => {
    const receipt = await removeTarget(cx, id)
    return receipt ? { deletionDate: at(receipt.changed) } : {}
  },
  getTarget: ({ id }, cx) => ({ target: toTarget(findTarget(cx, id)) }),
  listTargets: (req, cx) => {
    const found = searchTargets(cx, {
      page: pageOf(req.pagination),
      sort: meaning(columns, req.sortingColumn ?? TargetFieldName.UNSPECIFIED),
      filters: req.filters.map(filterOf),
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

const timeoutOf = (timeout: Duration | undefined): number => (timeout ? durationMs(timeout) : 0)

type Said =
  | { readonly case: "restWebhook" | "restCall"; readonly value: { interruptOnError: boolean } }
  | { readonly case: "restAsync"; readonly value: object }
  | { readonly case: undefined; readonly value?: undefined }

/** Of which kind a target is said to be, in both versions of the interface; undefined: of none. */
export function kindOf(said: Said) {
  switch (said.case) {
    case "restWebhook":
      return { targetType: "webhook", interruptOnError: said.value.interruptOnError } as const
    case "restCall":
      return { targetType: "call", interruptOnError: said.value.interruptOnError } as const
    case "restAsync":
      return { targetType: "async", interruptOnError: false } as const
    default:
      return undefined
  }
}

export const typeMissingError = () =>
  fieldError(
    "target.type_missing",
    "target_type",
    "must be one of rest_webhook, rest_call, rest_async",
  )

/** The kind of a target as both versions say it. */
export function toKind({ targetType, interruptOnError }: TargetRow) {
  if (targetType === "async") return { case: "restAsync", value: {} } as const
  const value = { interruptOnError }
  return targetType === "call"
    ? ({ case: "restCall", value } as const)
    : ({ case: "restWebhook", value } as const)
}

const toTarget = (row: TargetRow): MessageInitShape<typeof TargetSchema> => ({
  ...{ id: row.id, name: row.name, endpoint: row.endpoint },
  creationDate: at(row.created),
  changeDate: at(row.changed),
  timeout: durationFromMs(row.timeoutMs),
  targetType: toKind(row),
  payloadType: payloadNumbers[row.payloadType],
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
