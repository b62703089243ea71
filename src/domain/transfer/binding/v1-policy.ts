import { create, type DescMessage, fromJson, type MessageShape, toJson } from "@bufbuild/protobuf"
import { askerOf } from "../../../api/method.ts"
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
import { idpById } from "../../idp/index.ts"
import { outranksAll } from "../../member/index.ts"
import { shares as policyShares } from "../../policy/api.ts"
import { type Field, needs, one, type Piece, type Row, row } from "./v1-row.ts"

const ask = askerOf<Cx>([...policyShares, ...idpShares])
const { method: management } = ManagementService
const { method: admin } = AdminService

/** A policy of an organisation: its messages are those of the operations that show and add it. */
type Policy<V> = {
  readonly field: Field
  /** What the permissions are named after that it takes to read and to say it. */
  readonly permission?: string
  readonly from: (org: DataOrg) => V | undefined
  readonly into: (value: V) => Piece
  /** What the organisation says itself; undefined where it leaves it to the instance. */
  readonly said: (cx: Cx, orgId: string) => Promise<V | undefined>
  readonly add: (cx: Cx, value: V, orgId: string) => Promise<unknown>
}

const policyRow = <V>({ field, permission = "policy", ...policy }: Policy<V>): Row => {
  const { from, into, said, add } = policy
  return row<V>({
    field,
    needs: needs(permission),
    from: (org) => one(from(org)),
    async *read(cx, orgId) {
      const value = await said(cx, orgId)
      if (value !== undefined) yield into(value)
    },
    write: async (cx, orgId, value) => {
      await add(cx, value, orgId)
    },
    idOf: () => field,
    taken: () => ({ settings: [field] }),
  })
}

type Shown<P> = { readonly policy?: P | undefined; readonly isDefault?: boolean }

/** A policy as it is shown, as a request that adds it: the fields of both have the same names. */
function own<I extends DescMessage, P extends DescMessage>(
  request: I,
  shown: P,
  { policy }: Shown<MessageShape<P> & { readonly isDefault: boolean }>,
): MessageShape<I> | undefined {
  if (!policy || policy.isDefault) return undefined
  const json = toJson(shown, policy, { alwaysEmitImplicit: true })
  return fromJson(request, json, { ignoreUnknownFields: true })
}

/** As the operation that sets it by itself requires. */
function mustOutrankAll(cx: Cx, orgId: string): void {
  if (outranksAll(cx, orgId)) return
  const message = "somebody in this organization has permissions that you lack"
  throw new Fault("permission_denied", "org.outranks_you", message)
}

export const domainPolicyRow = policyRow({
  field: "domainPolicy",
  permission: "iam.policy",
  from: (org) => org.domainPolicy,
  into: (domainPolicy) => ({ domainPolicy }),
  said: async (cx, orgId) => {
    const shown = await ask(cx, admin.getCustomDomainPolicy, { orgId })
    return own(AddCustomDomainPolicyRequestSchema, DomainPolicySchema, shown)
  },
  add: (cx, value, orgId) => {
    mustOutrankAll(cx, orgId)
    return ask(cx, admin.addCustomDomainPolicy, { ...value, orgId })
  },
})

/** What everybody sees; a preview that nobody has shown them stays behind, and so do files. */
const labelPolicy = policyRow({
  field: "labelPolicy",
  from: (org) => org.labelPolicy,
  into: (labelPolicy) => ({ labelPolicy }),
  said: async (cx) =>
    own(
      AddCustomLabelPolicyRequestSchema,
      LabelPolicySchema,
      await ask(cx, management.getLabelPolicy, {}),
    ),
  add: async (cx, value) => {
    await ask(cx, management.addCustomLabelPolicy, value)
    await ask(cx, management.activateCustomLabelPolicy, {})
  },
})

const lockoutPolicy = policyRow({
  field: "lockoutPolicy",
  from: (org) => org.lockoutPolicy,
  into: (lockoutPolicy) => ({ lockoutPolicy }),
  said: async (cx) =>
    own(
      AddCustomLockoutPolicyRequestSchema,
      LockoutPolicySchema,
      await ask(cx, management.getLockoutPolicy, {}),
    ),
  add: (cx, value) => ask(cx, management.addCustomLockoutPolicy, value),
})

const complexityPolicy = policyRow({
  field: "passwordComplexityPolicy",
  from: (org) => org.passwordComplexityPolicy,
  into: (passwordComplexityPolicy) => ({ passwordComplexityPolicy }),
  said: async (cx) =>
    own(
      AddCustomPasswordComplexityPolicyRequestSchema,
      PasswordComplexityPolicySchema,
      await ask(cx, management.getPasswordComplexityPolicy, {}),
    ),
  add: (cx, value) => ask(cx, management.addCustomPasswordComplexityPolicy, value),
})

const privacyPolicy = policyRow({
  field: "privacyPolicy",
  from: (org) => org.privacyPolicy,
  into: (privacyPolicy) => ({ privacyPolicy }),
  said: async (cx) =>
    own(
      AddCustomPrivacyPolicyRequestSchema,
      PrivacyPolicySchema,
      await ask(cx, management.getPrivacyPolicy, {}),
    ),
  add: (cx, value) => ask(cx, management.addCustomPrivacyPolicy, value),
})

export const policyRows = [labelPolicy, lockoutPolicy, complexityPolicy, privacyPolicy] as const

/** Stands behind the providers that it names. */
export const loginPolicyRow = policyRow({
  field: "loginPolicy",
  from: (org) => org.loginPolicy,
  into: (loginPolicy) => ({ loginPolicy }),
  said: async (cx) => {
    const shown = await ask(cx, management.getLoginPolicy, {})
    const said = own(AddCustomLoginPolicyRequestSchema, LoginPolicySchema, shown)
    if (!said) return undefined
    const query = { limit: linksMax, asc: true }
    const { result } = await ask(cx, management.listLoginPolicyIDPs, { query })
    return { ...said, idps: result.map(({ idpId }) => create(LinkSchema, { idpId })) }
  },
  // Without one it has people sign in by the rules of the instance, which may ask less of them.
  add: async (cx, value, orgId) => {
    const { here = [], gone = [] } = Object.groupBy(value.idps, ({ idpId }) =>
      isOffered(cx, orgId, idpId) ? "here" : "gone",
    )
    await ask(cx, management.addCustomLoginPolicy, { ...value, idps: here })
    if (gone.length > 0) throw goneError(gone.map(({ idpId }) => idpId))
  },
})

/** Whether it is a provider of the organisation, or of the instance. */
function isOffered(cx: Cx, orgId: string, idpId: string): boolean {
  const found = idpById(cx, idpId)
  return found !== undefined && [orgId, undefined].includes(found.place)
}

/** As many as a page may have. */
const linksMax = 1000

const namedMax = 5

const goneError = (ids: readonly string[]) =>
  new Fault(
    "failed_precondition",
    "transfer.idps_missing",
    `the policy is taken, without ${ids.length} sign-in providers that are not here: ` +
      `${ids.slice(0, namedMax).join(", ")}${ids.length > namedMax ? ", …" : ""}; set them up, ` +
      "and add them to it",
  )
