import { contextOrg, homeOrg } from "../../kernel/context.ts"
import { details } from "../../protocol/api/answer.ts"
import { type MaskedRequest, type Names, selected } from "../../protocol/api/mask.ts"
import type { Cx } from "../../store/index.ts"
import { addPolicy, changePolicy, findPolicy, type Place, resetPolicy } from "./commands.ts"
import type { Policy, Values } from "./kind.ts"

/** Where a policy is asked for, and whose it then is. */
export type ShownAt = {
  readonly cx: Cx
  readonly place: Place
  /** The organisation or the instance that says it. */
  readonly owner: string
}

/** How the messages of a version say what a policy says. */
type Forms<V extends Values, Requested, Shown> = {
  /** Fields of a request that say a value of another name. */
  readonly names?: Names
  readonly read: (requested: Requested) => Partial<V>
  readonly show: (values: V, shown: ShownAt) => Shown
}

/** What v1 does with one policy; it is the same with each. */
export function operationsOf<V extends Values, Requested, Shown>(
  policy: Policy<V>,
  { read, show, names }: Forms<V, Requested, Shown>,
) {
  const shown = (cx: Cx, place: Place) => {
    const { values, isDefault, stand } = findPolicy(cx, place, policy)
    return {
      policy: {
        ...show(values, { cx, place, owner: stand.owner }),
        isDefault,
        details: details(stand),
      },
      isDefault,
    }
  }
  const said = (requested: Requested) => ({ policy, say: () => read(requested) })
  const changes = (requested: Requested & MaskedRequest) => ({
    policy,
    say: () => selected<V>(requested, read(requested), names),
    isPartial: requested.updateMask !== undefined,
  })
  const ofOrg = <Named>(orgOf: (requested: Named, cx: Cx) => string) => ({
    get: (requested: Named, cx: Cx) => shown(cx, orgOf(requested, cx)),
    add: async (requested: Requested & Named, cx: Cx) => ({
      details: details(await addPolicy(cx, orgOf(requested, cx), said(requested))),
    }),
    update: async (requested: Requested & Named & MaskedRequest, cx: Cx) => ({
      details: details(await changePolicy(cx, orgOf(requested, cx), changes(requested))),
    }),
    reset: async (requested: Named, cx: Cx) => ({
      details: details(await resetPolicy(cx, orgOf(requested, cx), policy)),
    }),
  })
  return {
    instance: {
      get: (_: unknown, cx: Cx) => shown(cx, undefined),
      add: async (requested: Requested, cx: Cx) => ({
        details: details(await addPolicy(cx, undefined, said(requested))),
      }),
      update: async (requested: Requested & MaskedRequest, cx: Cx) => ({
        details: details(await changePolicy(cx, undefined, changes(requested))),
      }),
    },
    /** Of the organisation of the context. */
    org: ofOrg((_: unknown, cx) => contextOrg(cx)),
    /** Of the organisation that the request names. */
    named: ofOrg(({ orgId }: { readonly orgId: string }) => orgId),
    /** Of the caller's own organisation. */
    mine: (_: unknown, cx: Cx) => shown(cx, homeOrg(cx) || undefined),
  }
}
