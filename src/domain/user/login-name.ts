import { Fault } from "../../kernel/fault.ts"
import { foldExceptSigma } from "../../kernel/text/name.ts"
import { loginNameForms, loginNameKeys } from "../../protocol/email.ts"
import { partsOf } from "../../protocol/user-field.ts"
import type { ClaimChange, Cx, Decision } from "../../store/index.ts"
import { domainClaim, domainOf, heldDomains, isProvenDomain, org } from "../org/index.ts"
import { domainPolicy, policyOf } from "../policy/index.ts"
import { type Human, user } from "../user-model/index.ts"

/** User names are unique within an instance, whatever the spelling. */
export const loginClaim = "login_name"

/** A name that a user left by a rename: programs may still take whoever has it for that user. */
const reservedClaim = "reserved_login_name"

/** How many names a user can leave, so that nobody reserves names at will. */
const reservedMax = 10

const taken = {
  id: "user.name_taken",
  message: "somebody else already signs in with this name; choose another",
}

export const takeName = (userName: string): readonly ClaimChange[] => takeAll(loginClaim, userName)

const takeAll = (claim: string, name: string): readonly ClaimChange[] =>
  loginNameKeys(name).map((key) => ({ take: claim, key, taken }))

export const releaseNames = (loginNames: readonly string[]): readonly ClaimChange[] =>
  releaseAll(loginClaim, loginNames)

export const releaseReserved = (names: readonly string[] = []): readonly ClaimChange[] =>
  releaseAll(reservedClaim, names)

/** Earlier versions took a name in the spelling of its domain; what is not held is not released. */
const releaseAll = (claim: string, names: readonly string[]): readonly ClaimChange[] =>
  names.flatMap((name) => loginNameForms(name).map((key) => ({ release: claim, key })))

/** The user who has a name, or has left it by a rename. */
export const nameHolder = (cx: Decision, name: string) =>
  holderIn(cx, loginClaim, name) ?? holderIn(cx, reservedClaim, name)

/** The holder of a name, also where an earlier version took it in another spelling. */
function holderIn(cx: Decision, claim: string, name: string) {
  for (const form of loginNameForms(name)) {
    const holder = cx.holder(claim, form)
    if (holder) return holder
  }
  return undefined
}

/** Whether two names are one, however they are spelled. */
export const isSameName = (one: string, other: string): boolean =>
  loginNameKeys(one)[0] === loginNameKeys(other)[0]

/** The name that a user signs in with, and those that they left by a rename. */
type Names = Pick<Human, "userName" | "reservedNames">

type Rename = { readonly id: string; readonly before: Names; readonly userName: string }

/**
 * The names that are reserved for a user after a rename, and the claims to change: the name that
 * they leave is reserved, one that they take back no longer is.
 */
export function reservedAfter(cx: Decision, { id, before, userName }: Rename) {
  const { reservedNames = [], userName: left } = before
  const isTakenBack = (name: string) => isSameName(name, userName)
  const holder = holderIn(cx, reservedClaim, left)
  // In a proven domain somebody of another organization may have left the same name before.
  const isReserved = !isTakenBack(left) && (holder === undefined || holder.id === id)
  const kept = reservedNames.filter((name) => !isTakenBack(name) && !isSameName(name, left))
  const names = isReserved ? [...kept, left] : kept
  if (names.length > reservedMax) throw tooManyReservedError()
  const claims: readonly ClaimChange[] = [
    ...releaseReserved(reservedNames.filter(isTakenBack)),
    ...(isReserved ? takeAll(reservedClaim, left) : []),
  ]
  return { reservedNames: names, claims }
}

/** The names that are reserved without the given one; refuses one that is not reserved. */
export function reservedWithout(names: readonly string[], loginName: string): readonly string[] {
  const rest = names.filter((name) => !isSameName(name, loginName.trim()))
  if (rest.length < names.length) return rest
  throw new Fault("not_found", "user.name_not_reserved", "login_name is not reserved for this user")
}

/**
 * Refuses callers who can't change their own user name. Programs may identify users by it, so the
 * domain policy must allow it, unless the caller may change the user names of others, too.
 */
export function mustBeAllowedToRename(cx: Cx, orgId: string): void {
  if (canRename(cx, orgId)) return
  throw new Fault(
    "failed_precondition",
    "user.rename_off",
    "the domain policy does not allow users to change their own user name (users_can_rename); " +
      "ask an administrator",
  )
}

/** Whether the caller, who belongs to an organization, can change their own user name. */
export const canRename = (cx: Cx, orgId: string): boolean =>
  policyOf(cx, orgId, domainPolicy).usersCanRename || cx.holdsOnOneself?.("user.write") === true

type NameRequest = { readonly id: string; readonly orgId: string; readonly userName: string }

/**
 * Refuses a user name of which some form is somebody else's, or that ends in a domain that another
 * organisation has proven; one that is held on trust keeps nobody out. Two who ask at the same
 * moment may both get theirs; then the longer one counts.
 */
export function mustBeFree(cx: Decision, wanted: NameRequest): void {
  const refusal = formRefusal(cx, wanted)
  if (refusal) throw refusal
}

/** Why somebody new can't be called so, if they can't. */
export const nameRefusal = (cx: Decision, wanted: NameRequest): Fault | undefined =>
  holderIn(cx, loginClaim, wanted.userName) ? nameTakenError() : formRefusal(cx, wanted)

function formRefusal(cx: Decision, { id, orgId, userName }: NameRequest): Fault | undefined {
  const name = foldExceptSigma(userName)
  // Nearly all are nobody's: what else would have to be looked up is, where somebody has it.
  const isOthers = (form: string, homeOf: () => string | undefined): boolean => {
    const holder = nameHolder(cx, form)
    if (holder === undefined || holder.id === id) return false
    const home = homeOf()
    return home === undefined || cx.owner(user, holder.id) === home
  }
  const parts = partsOf(name)
  const home = parts && cx.holder(domainClaim, domainOf(parts.domain))?.id
  if (parts && home !== undefined) {
    if (isOthers(parts.local, () => home)) return nameTakenError()
    if (home !== orgId && isProvenDomain(cx, parts.domain)) return domainTakenError()
  }
  const isOwnDomain = parts && home === orgId && isProvenDomain(cx, parts.domain)
  const reservedFor = holderIn(cx, reservedClaim, name)?.id ?? id
  // Names in a proven domain are its organization's to give, whoever of another has left one.
  const isGiven = isOwnDomain && cx.owner(user, reservedFor) !== orgId
  if (reservedFor !== id && !isGiven) return nameTakenError()
  const holder = loginNameForms(name).length > 1 ? holderIn(cx, loginClaim, name) : undefined
  if (holder && holder.id !== id) return nameTakenError()
  const isTaken = heldDomains(cx.state(org, orgId)).some((domain) =>
    // Whoever else has a name in a proven domain is about to lose it.
    isOthers(`${name}@${domain}`, () => (isProvenDomain(cx, domain) ? orgId : undefined)),
  )
  return isTaken ? nameTakenError() : undefined
}

const tooManyReservedError = () =>
  new Fault(
    "failed_precondition",
    "user.names_reserved",
    `${reservedMax} earlier login names are reserved for this user; an administrator must ` +
      "release one first (ReleaseLoginName)",
  )

const nameTakenError = () => new Fault("already_exists", taken.id, taken.message)

const domainTakenError = () =>
  new Fault(
    "failed_precondition",
    "user.name_of_other_org",
    "this name ends in the domain of another organisation; choose one without it",
  )
