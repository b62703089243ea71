import {
  type Duration,
  durationFromMs,
  durationMs,
  type Timestamp,
  timestampFromMs,
  timestampMs,
} from "@bufbuild/protobuf/wkt"
import { share } from "../../api/method.ts"
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
import { details } from "../../protocol/api/answer.ts"
import { mergedWith } from "../../protocol/api/mask.ts"
import type { Cx } from "../../store/index.ts"
import { findInstance, instance } from "../instance/index.ts"
import { addQuota, checkLimits, removeQuota, resetLimits, setLimits, setQuota } from "./commands.ts"
import {
  type Limits,
  type Notification,
  type Quota,
  type Restrictions,
  restrictions,
  type Unit,
} from "./model.ts"
import { languagesOf, restrictionsOf, setDefaultLanguage, setRestrictions } from "./restriction.ts"

export const admin = share<Cx>()(AdminService, {
  getSupportedLanguages: () => ({ languages: [...pageLanguages] }),
  getAllowedLanguages: (_, cx) => ({ languages: [...languagesOf(cx)] }),
  getDefaultLanguage: (_, cx) => ({ language: languagesOf(cx)[0] ?? "" }),
  setDefaultLanguage: async ({ language }, cx) => {
    await setDefaultLanguage(cx, language)
    return { details: details(findInstance(cx)) }
  },
  getRestrictions: (_, cx) => {
    const { allowedLanguages, disallowPublicOrgRegistration } = restrictionsOf(cx)
    const receipt = cx.store.receipt(cx, restrictions, cx.instance)
    return {
      disallowPublicOrgRegistration,
      allowedLanguages: [...allowedLanguages],
      ...(receipt && { details: details({ ...receipt, owner: cx.instance }) }),
    }
  },
  setRestrictions: async (req, cx) => {
    const receipt = await setRestrictions(cx, cx.instance, wishOf(req))
    return { details: details({ ...receipt, owner: cx.instance }) }
  },
})

const wishOf = (req: SetRestrictionsRequest): Partial<Restrictions> => ({
  ...(req.disallowPublicOrgRegistration !== undefined && {
    disallowPublicOrgRegistration: req.disallowPublicOrgRegistration,
  }),
  ...(req.allowedLanguages && { allowedLanguages: [...new Set(req.allowedLanguages.list)] }),
})

export const system = share<Cx>()(SystemService, {
  addQuota: async (req, cx) => {
    const unit = unitOf(req.unit)
    return { details: details(await addQuota(cx, unit, { unit, ...quotaOf(req) })) }
  },
  setQuota: async (req, cx) => {
    const unit = unitOf(req.unit)
    const say = (before: Quota | undefined) =>
      quotaOf(mergedWith(req, before ? sentOf(before) : {}))
    return { details: details(await setQuota(cx, unit, { unit, say })) }
  },
  removeQuota: async (req, cx) => {
    const unit = unitOf(req.unit)
    return { details: details(await removeQuota(cx, unit, unit)) }
  },
  setLimits: async (req, cx) => ({
    details: details(await setLimits(cx, cx.instance, limitsOf(req))),
  }),
  bulkSetLimits: (req, cx) => setAll(cx, req),
  resetLimits: async (_, cx) => ({ details: details(await resetLimits(cx, cx.instance)) }),
})

function unitOf(asked: AskedUnit): Unit {
  const unit = units[asked]
  if (unit) return unit
  throw new Fault("invalid_argument", "quota.unit_missing", "say which unit the quota is for")
}

const units: Readonly<Record<number, Unit>> = {
  [AskedUnit.REQUESTS_ALL_AUTHENTICATED]: "requests.all.authenticated",
  [AskedUnit.ACTIONS_ALL_RUN_SECONDS]: "actions.all.runs.seconds",
}

/** The fields of a request that says what is so. */
const sentOf = ({ from, intervalMs, amount, limit, notifications = [] }: Quota) => ({
  from: timestampFromMs(from),
  resetInterval: durationFromMs(intervalMs),
  amount: BigInt(amount),
  limit,
  notifications,
})

function quotaOf(req: AddQuotaRequest | SetQuotaRequest): Quota {
  return {
    from: given(req.from, "from", timestampMs),
    intervalMs: given(req.resetInterval, "reset_interval", durationMs),
    amount: Number(req.amount),
    limit: req.limit,
    ...(req.notifications.length > 0 && { notifications: req.notifications.map(wishedOf) }),
  }
}

const wishedOf = ({ percent, repeat, callUrl }: Wished): Notification => ({
  percent,
  repeat,
  callUrl,
})

function given<T extends Timestamp | Duration>(
  value: T | undefined,
  field: string,
  read: (value: T) => number,
): number {
  if (value) return read(value)
  throw fieldError("quota.field_missing", field, "is missing")
}

const limitsOf = ({ auditLogRetention, block }: SetLimitsRequest): Limits => ({
  ...(auditLogRetention && { auditLogRetention: durationMs(auditLogRetention) / 1000 }),
  ...(block !== undefined && { block }),
})

/** All are looked at before the first is set: a list with a mistake in it does nothing. */
async function setAll(cx: Cx, { limits }: BulkSetLimitsRequest) {
  if (limits.length === 0) {
    throw new Fault("invalid_argument", "limits.empty", "name the instances to limit")
  }
  for (const each of limits) {
    checkLimits(limitsOf(each))
    const at = { instance: each.instanceId }
    if (cx.store.state(at, instance, each.instanceId).status === "active") continue
    const message = `there is no instance ${JSON.stringify(each.instanceId)}`
    throw new Fault("not_found", "instance.missing", message)
  }
  const receipts = []
  for (const each of limits) {
    const there = { ...cx, instance: each.instanceId }
    receipts.push(details(await setLimits(there, each.instanceId, limitsOf(each))))
  }
  const [first] = receipts
  return { ...(first && { details: first }), targetDetails: receipts }
}
