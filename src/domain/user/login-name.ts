import { Fault } from "../../kernel/fault.ts"
import { foldExceptSigma } from "../../kernel/text/name.ts"
import { loginNameForms, loginNameKeys } from "../../protocol/email.ts"
import { splitAtDomain } from "../../protocol/user-field.ts"
import type { ClaimChange, Cx, DecisionContext } from "../../store/index.ts"
import { domainClaim, isProvenDomain, loginDomains, normalizeDomain, org } from "../org/index.ts"
import { domainPolicy, policyOf } from "../policy/index.ts"
import { type Human, user } from "../user-model/index.ts"

/** User names are unique within an instance, regardless of spelling. */
export const loginClaim = "login_name"

/** A previous name after a rename: applications may still identify the user by it. */
const reservedClaim = "reserved_login_name"

/** Limit per user, so that no one can reserve names at will. */
const reservedNamesMax = 10

const nameTakenClaim = {
  id: "user.name_taken",
  message: "another user already signs in with this name; choose another name",
}

export const claimName = (userName: string): readonly ClaimChange[] =>
  claimAll(loginClaim, userName)

const claimAll = (claim: string, name: string): readonly ClaimChange[] =>
  loginNameKeys(name).map((key) => ({ take: claim, key, taken: nameTakenClaim }))

export const releaseNames = (loginNames: readonly string[]): readonly ClaimChange[] =>
  releaseAll(loginClaim, loginNames)

export const releaseReservedNames = (names: readonly string[] = []): readonly ClaimChange[] =>
  releaseAll(reservedClaim, names)

/**
 * Earlier versions claimed a name in its original spelling; claims that are not held are skipped.
 */
const releaseAll = (claim: string, names: readonly string[]): readonly ClaimChange[] =>
  names.flatMap((name) => loginNameForms(name).map((key) => ({ release: claim, key })))

/** The user who has a name, or had it before a rename. */
export const findNameHolder = (cx: DecisionContext, name: string) =>
  findHolder(cx, loginClaim, name) ?? findHolder(cx, reservedClaim, name)

/** The holder of a name, also if an earlier version claimed it in another spelling. */
function findHolder(cx: DecisionContext, claim: string, name: string) {
  for (const form of loginNameForms(name)) {
    const holder = cx.holder(claim, form)
    if (holder) return holder
  }
  return undefined
}

/** Whether two names are equal, ignoring spelling. */
export const isSameName = (one: string, other: string): boolean =>
  loginNameKeys(one)[0] === loginNameKeys(other)[0]

/** The current and previous names of a user. */
type UserNames = Pick<Human, "userName" | "reservedNames">

type Rename = { readonly id: string; readonly before: UserNames; readonly userName: string }

/**
 * The reserved names after a rename and the claim changes: the previous name is reserved, a
 * reclaimed one no longer is.
 */
export function reserveOnRename(cx: DecisionContext, { id, before, userName }: Rename) {
  const { reservedNames = [], userName: left } = before
  const isTakenBack = (name: string) => isSameName(name, userName)
  const holder = findHolder(cx, reservedClaim, left)
  // In a verified domain, a user of another organization may already have reserved the same name.
  const isReserved = !isTakenBack(left) && (holder === undefined || holder.id === id)
  const remaining = reservedNames.filter((name) => !isTakenBack(name) && !isSameName(name, left))
  const names = isReserved ? [...remaining, left] : remaining
  if (names.length > reservedNamesMax) throw tooManyReservedError()
  const claims: readonly ClaimChange[] = [
    ...releaseReservedNames(reservedNames.filter(isTakenBack)),
    ...(isReserved ? claimAll(reservedClaim, left) : []),
  ]
  return { reservedNames: names, claims }
}

/** The reserved names without the given one. Throws if it is not reserved. */
export function withoutReserved(names: readonly string[], loginName: string): readonly string[] {
  const rest = names.filter((name) => !isSameName(name, loginName.trim()))
  if (rest.length < names.length) return rest
  throw new Fault("not_found", "user.name_not_reserved", "login_name is not reserved for this user")
}

/**
 * Rejects callers who can't change their own user name. Applications may identify users by it, so
 * the domain policy must allow it, unless the caller has permission to change the names of others.
 */
export function requireCanRename(cx: Cx, orgId: string): void {
  if (canRename(cx, orgId)) return
  throw new Fault(
    "failed_precondition",
    "user.rename_off",
    "permission denied: the domain policy does not allow users to change their own user " +
      "name (users_can_rename); ask an administrator",
  )
}

/** Whether a caller of an organization can change their own user name. */
export const canRename = (cx: Cx, orgId: string): boolean =>
  policyOf(cx, orgId, domainPolicy).usersCanRename || cx.holdsOnOneself?.("user.write") === true

type NameRequest = { readonly id: string; readonly orgId: string; readonly userName: string }

/**
 * Rejects a user name if one of its login names belongs to another user, or if it ends in a domain
 * that another organization has verified. Domains without required verification don't block names.
 * Of two concurrent requests, both may succeed; the longer form then takes precedence.
 */
export function requireNameAvailable(cx: DecisionContext, request: NameRequest): void {
  const refusal = findFormError(cx, request)
  if (refusal) throw refusal
}

/** Why a new user can't have a name; undefined if it is available. */
export const findNameError = (cx: DecisionContext, request: NameRequest): Fault | undefined =>
  findHolder(cx, loginClaim, request.userName) ? nameTakenError() : findFormError(cx, request)

function findFormError(
  cx: DecisionContext,
  { id, orgId, userName }: NameRequest,
): Fault | undefined {
  const name = foldExceptSigma(userName)
  // Most names are free, so further lookups happen only if a name is taken.
  const isOthers = (form: string, homeOf: () => string | undefined): boolean => {
    const holder = findNameHolder(cx, form)
    if (holder === undefined || holder.id === id) return false
    const home = homeOf()
    return home === undefined || cx.owner(user, holder.id) === home
  }
  const parts = splitAtDomain(name)
  const home = parts && cx.holder(domainClaim, normalizeDomain(parts.domain))?.id
  if (parts && home !== undefined) {
    if (isOthers(parts.local, () => home)) return nameTakenError()
    if (home !== orgId && isProvenDomain(cx, parts.domain)) return domainTakenError()
  }
  const isOwnDomain = parts && home === orgId && isProvenDomain(cx, parts.domain)
  const reservedFor = findHolder(cx, reservedClaim, name)?.id ?? id
  // In a verified domain the organization assigns names, even if a user of another organization
  // reserved one.
  const isGiven = isOwnDomain && cx.owner(user, reservedFor) !== orgId
  if (reservedFor !== id && !isGiven) return nameTakenError()
  const holder = loginNameForms(name).length > 1 ? findHolder(cx, loginClaim, name) : undefined
  if (holder && holder.id !== id) return nameTakenError()
  const isTaken = loginDomains(cx.state(org, orgId)).some((domain) =>
    // Any other user who has a name in a verified domain is about to be renamed.
    isOthers(`${name}@${domain}`, () => (isProvenDomain(cx, domain) ? orgId : undefined)),
  )
  return isTaken ? nameTakenError() : undefined
}

const tooManyReservedError = () =>
  new Fault(
    "failed_precondition",
    "user.names_reserved",
    `the limit of ${reservedNamesMax} reserved previous login names is reached for this user; ` +
      "an administrator must release one first (ReleaseLoginName)",
  )

const nameTakenError = () => new Fault("already_exists", nameTakenClaim.id, nameTakenClaim.message)

const domainTakenError = () =>
  new Fault(
    "failed_precondition",
    "user.name_of_other_org",
    "this name ends in the domain of another organization; choose a name without it",
  )
