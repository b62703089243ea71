import type { Message } from "@bufbuild/protobuf"
import { asAuthor, type Call } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import {
  type Access,
  type Authority,
  chosenOf,
  holderOf,
  holdsHere,
  holdsOn,
  isNamed,
  open,
  type Rule,
} from "./access.ts"
import { mustOutrank, type Rank } from "./rank.ts"

/**
 * Lets a request pass that targets have changed, or faults: it must be permitted to every author of
 * these targets, too, by the permissions that they hold now. Nothing in it makes an author its
 * user: neither a rule about oneself, nor the key or the proof that the caller has put in. `cx` is
 * the call as it was authorized for its caller. Returns it with what all of them hold.
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
  const held = others.map((userId) => {
    if (!authority.isActive(cx, userId)) throw authorError()
    return permitted(authority, access, asAuthor(cx, userId), { request, userId, of: cx })
  })
  const holdsOnInstance = (permission: string) =>
    (cx.holdsOnInstance?.(permission) ?? false) &&
    others.every((id) => holdsHere(authority, asAuthor(cx, id), id, permission))
  if (!holds) return { ...cx, holdsOnInstance }
  return {
    ...cx,
    holdsOnInstance,
    holds: (permission: string) => holds(permission) && held.every((each) => each(permission)),
  }
}

type Holds = NonNullable<Call["holds"]>

type ChangedRequest<C> = {
  readonly request: Message
  readonly userId: string
  /** The call as its caller makes it. */
  readonly of: C
}

/** What an author holds on what the request is about; a fault where it isn't permitted to them. */
function permitted<C extends Call>(
  authority: Authority<C>,
  access: Access,
  cx: C,
  { request, userId, of }: ChangedRequest<C>,
): Holds {
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
      if (access.changes) mustActFor(authority, cx, of)
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
  const rule = access.kind === "resource" ? access.rule : chosenOf(access.rules, request)
  const enter = (by: Rule, rank: Rank | undefined): Holds | undefined => {
    if (by.id === "home") mustActFor(authority, cx, of)
    const opened = open(authority, cx, { rule: { ...by, self: "" }, holder, request, changes })
    if (opened instanceof Fault) return undefined
    if (rank) mustOutrank(authority, cx, unproven(rank), { request, touched: opened })
    return (permission) => holdsOn(holder, opened, permission)
  }
  const holds = enter(rule, access.rank)
  if (holds) return holds
  const beside = or && isNamed(or.rule, request) ? enter(or.rule, or.rank) : undefined
  if (!beside) throw authorError()
  return beside
}

const unproven = (rank: Rank): Rank => ({ ...rank, isProven: () => false })

/** What lets an administrator change a user's account in every way that the user could. */
const ofAccounts = ["user.write", "user.credential.write", "user.passkey.write"]

/** Faults unless the author may change the account of the caller, whom the request is about. */
function mustActFor<C extends Call>(authority: Authority<C>, cx: C, { caller }: C): void {
  if (caller.kind !== "user" || cx.caller.kind !== "user") throw authorError()
  const chain = authority.resources.user?.(cx, caller.userId, undefined)
  const holder = holderOf(authority, cx, cx.caller.userId)
  const mayChange = chain && ofAccounts.every((permission) => holdsOn(holder, chain, permission))
  if (!mayChange || !authority.outranks(cx, caller.userId, "anywhere")) throw authorError()
}

/** Whether the authors of targets may change what the caller is answered: none of them is below. */
export const mayAnswer = <C extends Call>(
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
    "a target changed this request into one that its author, or the author of its execution, " +
      "must not make; ask an administrator to review them",
  )
