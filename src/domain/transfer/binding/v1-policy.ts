import { create, type DescMessage, fromJson, type MessageShape, toJson } from "@bufbuild/protobuf"
import { createCaller } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import type { DataOrg } from "../../../gen/core/admin/v1/data_pb.ts"
import { AddCustomDomainPolicyRequestSchema } from "../../../gen/core/admin/v1/policy_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import {
  AddCustomLabelPolicyRequestSchema,
  AddCustomLockoutPolicyRequestSchema,
  AddCustomLoginPolicyRequestSchema,
  AddCustomPasswordComplexityPolicyRequestSchema,
  AddCustomPrivacyPolicyRequestSchema,
  AddCustomLoginPolicyRequest_IDPSchema as LinkSchema,
} from "../../../gen/core/management/v1/policy_pb.ts"
import {
  DomainPolicySchema,
  LabelPolicySchema,
  LockoutPolicySchema,
  LoginPolicySchema,
  PasswordComplexityPolicySchema,
  PrivacyPolicySchema,
} from "../../../gen/core/policy/v1/policy_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { shares as idpShares } from "../../idp/api.ts"
import { findIdpById } from "../../idp/index.ts"
import { outranksOrg } from "../../member/index.ts"
import { shares as policyShares } from "../../policy/api.ts"
import {
  type Field,
  type ItemKind,
  itemKind,
  listOf,
  type OrgPiece,
  permissionsFor,
} from "./v1-item-kind.ts"

const callOperation = createCaller<Cx>([...policyShares, ...idpShares])
const { method: management } = ManagementService
const { method: admin } = AdminService

/**
 * A policy of an organization, transferred with the messages of the operations that read and add
 * it.
 */
type Policy<V> = {
  readonly field: Field
  /** The prefix of the permissions for reading and writing it. */
  readonly permission?: string
  readonly from: (org: DataOrg) => V | undefined
  readonly toPiece: (value: V) => OrgPiece
  /** The organization's own policy; undefined if it uses that of the instance. */
  readonly find: (cx: Cx, orgId: string) => Promise<V | undefined>
  readonly add: (cx: Cx, value: V, orgId: string) => Promise<unknown>
}

const policyRow = <V>({ field, permission = "policy", ...policy }: Policy<V>): ItemKind => {
  const { from, toPiece, find, add } = policy
  return itemKind<V>({
    field,
    needs: permissionsFor(permission),
    from: (org) => listOf(from(org)),
    async *read(cx, orgId) {
      const value = await find(cx, orgId)
      if (value !== undefined) yield toPiece(value)
    },
    write: async (cx, orgId, value) => {
      await add(cx, value, orgId)
    },
    idOf: () => field,
    successOf: () => ({ settings: [field] }),
  })
}

type PolicyResponse<P> = { readonly policy?: P | undefined; readonly isDefault?: boolean }

/** Converts a policy from a response to a request that adds it; the fields have the same names. */
function toAddRequest<I extends DescMessage, P extends DescMessage>(
  request: I,
  response: P,
  { policy }: PolicyResponse<MessageShape<P> & { readonly isDefault: boolean }>,
): MessageShape<I> | undefined {
  if (!policy || policy.isDefault) return undefined
  const json = toJson(response, policy, { alwaysEmitImplicit: true })
  return fromJson(request, json, { ignoreUnknownFields: true })
}

/** The same check as in the operation that sets the policy. */
function requireHigherRankThanAll(cx: Cx, orgId: string): void {
  if (outranksOrg(cx, orgId)) return
  const message = "permission denied: a member of this organization has permissions that you lack"
  throw new Fault("permission_denied", "org.outranks_you", message)
}

export const domainPolicyRow = policyRow({
  field: "domainPolicy",
  permission: "iam.policy",
  from: (org) => org.domainPolicy,
  toPiece: (domainPolicy) => ({ domainPolicy }),
  find: async (cx, orgId) => {
    const response = await callOperation(cx, admin.getCustomDomainPolicy, { orgId })
    return toAddRequest(AddCustomDomainPolicyRequestSchema, DomainPolicySchema, response)
  },
  add: (cx, value, orgId) => {
    requireHigherRankThanAll(cx, orgId)
    return callOperation(cx, admin.addCustomDomainPolicy, { ...value, orgId })
  },
})

/** The published branding; the preview and files are not transferred. */
const labelPolicy = policyRow({
  field: "labelPolicy",
  from: (org) => org.labelPolicy,
  toPiece: (labelPolicy) => ({ labelPolicy }),
  find: async (cx) =>
    toAddRequest(
      AddCustomLabelPolicyRequestSchema,
      LabelPolicySchema,
      await callOperation(cx, management.getLabelPolicy, {}),
    ),
  add: async (cx, value) => {
    await callOperation(cx, management.addCustomLabelPolicy, value)
    await callOperation(cx, management.activateCustomLabelPolicy, {})
  },
})

const lockoutPolicy = policyRow({
  field: "lockoutPolicy",
  from: (org) => org.lockoutPolicy,
  toPiece: (lockoutPolicy) => ({ lockoutPolicy }),
  find: async (cx) =>
    toAddRequest(
      AddCustomLockoutPolicyRequestSchema,
      LockoutPolicySchema,
      await callOperation(cx, management.getLockoutPolicy, {}),
    ),
  add: (cx, value) => callOperation(cx, management.addCustomLockoutPolicy, value),
})

const complexityPolicy = policyRow({
  field: "passwordComplexityPolicy",
  from: (org) => org.passwordComplexityPolicy,
  toPiece: (passwordComplexityPolicy) => ({ passwordComplexityPolicy }),
  find: async (cx) =>
    toAddRequest(
      AddCustomPasswordComplexityPolicyRequestSchema,
      PasswordComplexityPolicySchema,
      await callOperation(cx, management.getPasswordComplexityPolicy, {}),
    ),
  add: (cx, value) => callOperation(cx, management.addCustomPasswordComplexityPolicy, value),
})

const privacyPolicy = policyRow({
  field: "privacyPolicy",
  from: (org) => org.privacyPolicy,
  toPiece: (privacyPolicy) => ({ privacyPolicy }),
  find: async (cx) =>
    toAddRequest(
      AddCustomPrivacyPolicyRequestSchema,
      PrivacyPolicySchema,
      await callOperation(cx, management.getPrivacyPolicy, {}),
    ),
  add: (cx, value) => callOperation(cx, management.addCustomPrivacyPolicy, value),
})

export const policyRows = [labelPolicy, lockoutPolicy, complexityPolicy, privacyPolicy] as const

/** Imported after the identity providers that it names. */
export const loginPolicyRow = policyRow({
  field: "loginPolicy",
  from: (org) => org.loginPolicy,
  toPiece: (loginPolicy) => ({ loginPolicy }),
  find: async (cx) => {
    const response = await callOperation(cx, management.getLoginPolicy, {})
    const find = toAddRequest(AddCustomLoginPolicyRequestSchema, LoginPolicySchema, response)
    if (!find) return undefined
    const query = { limit: linksMax, asc: true }
    const { result } = await callOperation(cx, management.listLoginPolicyIDPs, { query })
    return { ...find, idps: result.map(({ idpId }) => create(LinkSchema, { idpId })) }
  },
  // Without this policy, users sign in by the policy of the instance, which may be less strict.
  add: async (cx, value, orgId) => {
    const { here = [], gone = [] } = Object.groupBy(value.idps, ({ idpId }) =>
      isAvailable(cx, orgId, idpId) ? "here" : "gone",
    )
    await callOperation(cx, management.addCustomLoginPolicy, { ...value, idps: here })
    if (gone.length > 0) throw missingProvidersError(gone.map(({ idpId }) => idpId))
  },
})

/** Whether the provider belongs to the organization or the instance. */
function isAvailable(cx: Cx, orgId: string, idpId: string): boolean {
  const found = findIdpById(cx, idpId)
  return found !== undefined && [orgId, undefined].includes(found.place)
}

/** The maximum number of links on a page. */
const linksMax = 1000

const listedMax = 5

const missingProvidersError = (ids: readonly string[]) =>
  new Fault(
    "failed_precondition",
    "transfer.idps_missing",
    "the policy was imported without the identity providers that do not exist here " +
      `(${ids.length}): ${ids.slice(0, listedMax).join(", ")}` +
      `${ids.length > listedMax ? ", …" : ""}; ` +
      "create them and add them to the policy",
  )
