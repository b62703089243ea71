import { contextOrg, homeOrg } from "../../kernel/context.ts"
import { type FieldNames, type MaskedRequest, selectMasked } from "../../protocol/api/mask.ts"
import { toDetails } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { addPolicy, changePolicy, findPolicy, type PolicyOwner, resetPolicy } from "./commands.ts"
import type { Policy, PolicyValues } from "./kind.ts"

/** Where a policy is requested, and the owner it belongs to. */
export type PolicyContext = {
  readonly cx: Cx
  readonly place: PolicyOwner
  /** ID of the organization or instance that owns the policy. */
  readonly owner: string
}

/** Conversions between policy values and the messages of an API version. */
type PolicyConversions<V extends PolicyValues, Requested, PolicyMessage> = {
  /** Request fields whose values have another name. */
  readonly names?: FieldNames
  readonly read: (requested: Requested) => Partial<V>
  readonly show: (values: V, context: PolicyContext) => PolicyMessage
}

/** The operations of version 1 on one policy. */
export function policyOperations<V extends PolicyValues, Requested, PolicyMessage>(
  policy: Policy<V>,
  { read, show, names }: PolicyConversions<V, Requested, PolicyMessage>,
) {
  const shown = (cx: Cx, owner: PolicyOwner) => {
    const { values, isDefault, source: stand } = findPolicy(cx, owner, policy)
    return {
      policy: {
        ...show(values, { cx, place: owner, owner: stand.owner }),
        isDefault,
        details: toDetails(stand),
      },
      isDefault,
    }
  }
  const toUpdate = (requested: Requested) => ({ policy, apply: () => read(requested) })
  const changes = (requested: Requested & MaskedRequest) => ({
    policy,
    apply: () => selectMasked<V>(requested, read(requested), names),
    isPartial: requested.updateMask !== undefined,
  })
  const ofOrg = <OwnerRequest>(orgOf: (requested: OwnerRequest, cx: Cx) => string) => ({
    get: (requested: OwnerRequest, cx: Cx) => shown(cx, orgOf(requested, cx)),
    add: async (requested: Requested & OwnerRequest, cx: Cx) => ({
      details: toDetails(await addPolicy(cx, orgOf(requested, cx), toUpdate(requested))),
    }),
    update: async (requested: Requested & OwnerRequest & MaskedRequest, cx: Cx) => ({
      details: toDetails(await changePolicy(cx, orgOf(requested, cx), changes(requested))),
    }),
    reset: async (requested: OwnerRequest, cx: Cx) => ({
      details: toDetails(await resetPolicy(cx, orgOf(requested, cx), policy)),
    }),
  })
  return {
    instance: {
      get: (_: unknown, cx: Cx) => shown(cx, undefined),
      add: async (requested: Requested, cx: Cx) => ({
        details: toDetails(await addPolicy(cx, undefined, toUpdate(requested))),
      }),
      update: async (requested: Requested & MaskedRequest, cx: Cx) => ({
        details: toDetails(await changePolicy(cx, undefined, changes(requested))),
      }),
    },
    /** Of the organization in the context. */
    org: ofOrg((_: unknown, cx) => contextOrg(cx)),
    /** Of the organization in the request. */
    named: ofOrg(({ orgId }: { readonly orgId: string }) => orgId),
    /** Of the caller's own organization. */
    mine: (_: unknown, cx: Cx) => shown(cx, homeOrg(cx) || undefined),
  }
}
