import {
  type Duration,
  durationFromMs,
  durationMs,
  type Timestamp,
  timestampFromMs,
  timestampMs,
} from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../api/method.ts"
import {
  AdminService,
  type SetRestrictionsRequest,
} from "../../gen/core/admin/v1/admin_service_pb.ts"
import { Unit as AskedUnit, type Notification as Wished } from "../../gen/core/quota/v1/quota_pb.ts"
import {
  type AddQuotaRequest,
  type BulkSetLimitsRequest,
  type SetLimitsRequest,
  type SetQuotaRequest,
  SystemService,
} from "../../gen/core/system/v1/system_service_pb.ts"
import { Fault, fieldError } from "../../kernel/fault.ts"
import { pageLanguages } from "../../kernel/text/language.ts"
import { mergeWithStored } from "../../protocol/api/mask.ts"
import { toDetails } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { findInstance, instance } from "../instance/index.ts"
import {
  addQuota,
  removeQuota,
  resetLimits,
  setLimits,
  setQuota,
  validateLimits,
} from "./commands.ts"
import {
  type Limits,
  type Notification,
  type Quota,
  type Restrictions,
  restrictions,
  type Unit,
} from "./model.ts"
import { languagesOf, restrictionsOf, setDefaultLanguage, setRestrictions } from "./restriction.ts"

export const admin = bindHandlers<Cx>()(AdminService, {
  getSupportedLanguages: () => ({ languages: [...pageLanguages] }),
  getAllowedLanguages: (_, cx) => ({ languages: [...languagesOf(cx)] }),
  getDefaultLanguage: (_, cx) => ({ language: languagesOf(cx)[0] ?? "" }),
  setDefaultLanguage: async ({ language }, cx) => {
    await setDefaultLanguage(cx, language)
    return { details: toDetails(findInstance(cx)) }
  },
  getRestrictions: (_, cx) => {
    const { allowedLanguages, disallowPublicOrgRegistration } = restrictionsOf(cx)
    const receipt = cx.store.receipt(cx, restrictions, cx.instance)
    return {
      disallowPublicOrgRegistration,
      allowedLanguages: [...allowedLanguages],
      ...(receipt && { details: toDetails({ ...receipt, owner: cx.instance }) }),
    }
  },
  setRestrictions: async (req, cx) => {
    const receipt = await setRestrictions(cx, cx.instance, restrictionsFrom(req))
    return { details: toDetails({ ...receipt, owner: cx.instance }) }
  },
})

const restrictionsFrom = (req: SetRestrictionsRequest): Partial<Restrictions> => ({
  ...(req.disallowPublicOrgRegistration !== undefined && {
    disallowPublicOrgRegistration: req.disallowPublicOrgRegistration,
  }),
  ...(req.allowedLanguages && { allowedLanguages: [...new Set(req.allowedLanguages.list)] }),
})

export const system = bindHandlers<Cx>()(SystemService, {
  addQuota: async (req, cx) => {
    const unit = unitOf(req.unit)
    return { details: toDetails(await addQuota(cx, unit, { unit, ...quotaOf(req) })) }
  },
  setQuota: async (req, cx) => {
    const unit = unitOf(req.unit)
    const applyUpdate = (before: Quota | undefined) =>
      quotaOf(mergeWithStored(req, before ? requestFieldsOf(before) : {}))
    return { details: toDetails(await setQuota(cx, unit, { unit, derive: applyUpdate })) }
  },
  removeQuota: async (req, cx) => {
    const unit = unitOf(req.unit)
    return { details: toDetails(await removeQuota(cx, unit, unit)) }
  },
  setLimits: async (req, cx) => ({
    details: toDetails(await setLimits(cx, cx.instance, limitsOf(req))),
  }),
  bulkSetLimits: (req, cx) => setAll(cx, req),
  resetLimits: async (_, cx) => ({ details: toDetails(await resetLimits(cx, cx.instance)) }),
})

function unitOf(requested: AskedUnit): Unit {
  const unit = units[requested]
  if (unit) return unit
  throw new Fault("invalid_argument", "quota.unit_missing", "unit is required")
}

const units: Readonly<Record<number, Unit>> = {
  [AskedUnit.REQUESTS_ALL_AUTHENTICATED]: "requests.all.authenticated",
  [AskedUnit.ACTIONS_ALL_RUN_SECONDS]: "actions.all.runs.seconds",
}

/** The fields of a request that sets the current values. */
const requestFieldsOf = ({ from, intervalMs, amount, limit, notifications = [] }: Quota) => ({
  from: timestampFromMs(from),
  resetInterval: durationFromMs(intervalMs),
  amount: BigInt(amount),
  limit,
  notifications,
})

function quotaOf(req: AddQuotaRequest | SetQuotaRequest): Quota {
  return {
    from: requireField(req.from, "from", timestampMs),
    intervalMs: requireField(req.resetInterval, "reset_interval", durationMs),
    amount: Number(req.amount),
    limit: req.limit,
    ...(req.notifications.length > 0 && { notifications: req.notifications.map(notificationFrom) }),
  }
}

const notificationFrom = ({ percent, repeat, callUrl }: Wished): Notification => ({
  percent,
  repeat,
  callUrl,
})

function requireField<T extends Timestamp | Duration>(
  value: T | undefined,
  field: string,
  read: (value: T) => number,
): number {
  if (value) return read(value)
  throw fieldError("quota.field_missing", field, "is required")
}

const limitsOf = ({ auditLogRetention, block }: SetLimitsRequest): Limits => ({
  ...(auditLogRetention && { auditLogRetention: durationMs(auditLogRetention) / 1000 }),
  ...(block !== undefined && { block }),
})

/** All values are validated before the first is set, so an invalid list changes nothing. */
async function setAll(cx: Cx, { limits }: BulkSetLimitsRequest) {
  if (limits.length === 0) {
    throw new Fault("invalid_argument", "limits.empty", "at least one instance is required")
  }
  for (const each of limits) {
    validateLimits(limitsOf(each))
    const at = { instance: each.instanceId }
    if (cx.store.state(at, instance, each.instanceId).status === "active") continue
    const message = `instance ${JSON.stringify(each.instanceId)} not found`
    throw new Fault("not_found", "instance.missing", message)
  }
  const receipts = []
  for (const each of limits) {
    const instanceCx = { ...cx, instance: each.instanceId }
    receipts.push(toDetails(await setLimits(instanceCx, each.instanceId, limitsOf(each))))
  }
  const [first] = receipts
  return { ...(first && { details: first }), targetDetails: receipts }
}
