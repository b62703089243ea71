import type { Message } from "@bufbuild/protobuf"
import { asAuthor, type Call } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import {
  type Authority,
  evaluateRule,
  hasInstancePermission,
  hasPermissionOn,
  holderOf,
  namesResource,
  selectRule,
} from "./access.ts"
import type { Access, Rule } from "./access-rule.ts"
import { type Rank, requireHigherRank } from "./rank.ts"

/**
 * Authorizes a request that targets have changed. Every author of these targets must currently have
 * the permission for the changed request. Rules about the caller's own account, keys and proofs in
 * the request don't apply to authors. `cx` is the call as authorized for its caller. Returns it
 * with the permissions that the caller and all authors have.
 */
export function permitAuthors<C extends Call>(
  authority: Authority<C>,
  access: Access,
  cx: C,
  request: Message,
): C {
  const { caller, authors = [] } = cx
  const others = authors.filter((id) => caller.kind !== "user" || caller.userId !== id)
  const { holds } = cx
  const authorPermissions = others.map((userId) => {
    if (!authority.isActive(cx, userId)) throw authorError()
    return requireAuthorAccess(authority, access, asAuthor(cx, userId), {
      request,
      userId,
      callerCx: cx,
    })
  })
  const holdsOnInstance = (permission: string) =>
    (cx.holdsOnInstance?.(permission) ?? false) &&
    others.every((id) => hasInstancePermission(authority, asAuthor(cx, id), id, permission))
  if (!holds) return { ...cx, holdsOnInstance }
  return {
    ...cx,
    holdsOnInstance,
    holds: (permission: string) =>
      holds(permission) && authorPermissions.every((each) => each(permission)),
  }
}

type HasPermission = NonNullable<Call["holds"]>

type ChangedRequest<C> = {
  readonly request: Message
  readonly userId: string
  /** The call of the original caller. */
  readonly callerCx: C
}

/** The permissions of an author on the resource. Throws if the author can't make the request. */
function requireAuthorAccess<C extends Call>(
  authority: Authority<C>,
  access: Access,
  cx: C,
  { request, userId, callerCx }: ChangedRequest<C>,
): HasPermission {
  const none = () => false
  const holder = holderOf(authority, cx, userId)
  const holdsAny = ({ permission }: Rule) =>
    holder.memberships.some((each) => holder.holds(each, permission))
  switch (access.kind) {
    case "public":
      return none
    case "system":
      throw authorError()
    case "authenticated":
      if (access.changes) requireAccountAccess(authority, cx, callerCx)
      return none
    case "search":
      if (!holdsAny(access.rule)) throw authorError()
      return none
    case "searches":
      if (!access.rules.some(holdsAny)) throw authorError()
      return none
    case "resource":
    case "either":
      break
  }
  const { changes, or } = access
  const rule = access.kind === "resource" ? access.rule : selectRule(access.rules, request)
  const evaluate = (appliedRule: Rule, rank: Rank | undefined): HasPermission | undefined => {
    if (appliedRule.id === "home") requireAccountAccess(authority, cx, callerCx)
    const owners = evaluateRule(authority, cx, {
      rule: { ...appliedRule, self: "" },
      holder,
      request,
      changes,
    })
    if (owners instanceof Fault) return undefined
    if (rank) requireHigherRank(authority, cx, withoutProof(rank), { request, touched: owners })
    return (permission) => hasPermissionOn(holder, owners, permission)
  }
  const holds = evaluate(rule, access.rank)
  if (holds) return holds
  const fallback = or && namesResource(or.rule, request) ? evaluate(or.rule, or.rank) : undefined
  if (!fallback) throw authorError()
  return fallback
}

const withoutProof = (rank: Rank): Rank => ({ ...rank, isProven: () => false })

/**
 * The permissions that allow an administrator to change a user's account in every way the user can.
 */
const accountPermissions = ["user.write", "user.credential.write", "user.passkey.write"]

/** Throws unless the author can change the account of the caller. */
function requireAccountAccess<C extends Call>(authority: Authority<C>, cx: C, { caller }: C): void {
  if (caller.kind !== "user" || cx.caller.kind !== "user") throw authorError()
  const chain = authority.resources.user?.(cx, caller.userId, undefined)
  const holder = holderOf(authority, cx, cx.caller.userId)
  const hasPermissions =
    chain && accountPermissions.every((permission) => hasPermissionOn(holder, chain, permission))
  if (!hasPermissions || !authority.outranks(cx, caller.userId, "anywhere")) throw authorError()
}

/**
 * Whether the authors of targets can change the response to the caller: none of them has a lower
 * rank than the caller.
 */
export const canChangeResponse = <C extends Call>(
  authority: Authority<C>,
  cx: C,
  authors: readonly string[],
): boolean => {
  const { caller } = cx
  if (caller.kind !== "user") return false
  return authors.every((id) => {
    if (id === caller.userId) return true
    return (
      authority.isActive(cx, id) && authority.outranks(asAuthor(cx, id), caller.userId, "anywhere")
    )
  })
}

const authorError = () =>
  new Fault(
    "permission_denied",
    "target.author_not_permitted",
    "permission denied: a target changed this request into one that the author of the " +
      "target or of its execution can't make; ask an administrator to review both",
  )
