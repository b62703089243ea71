import { Fault } from "../../../kernel/fault.ts"
import {
  foldEmail,
  foldedForms,
  loginNameForms,
  loginNameKeys,
} from "../../../kernel/text/email.ts"
import { canonical, foldExceptSigma } from "../../../kernel/text/name.ts"
import {
  type ClaimChange,
  type Cx,
  type Decision,
  type Filter,
  statement,
  type TextMethod,
} from "../../../store/index.ts"
import {
  domainClaim,
  domainOf,
  heldDomains,
  inOrgWithDomain,
  isOrgThere,
  isProvenDomain,
  type Org,
  org,
  orgOfDomain,
  orgOfProvenDomain,
} from "../../org/index.ts"
import { type DomainPolicy, domainPolicy, login, policyFor, policyOf } from "../../policy/index.ts"
import { hasLeft, type LoginNames, user } from "../model.ts"
import { emailValues, hasEmail } from "../view.ts"
import { partsOf } from "./domain-in-name.ts"
import { holderOfEmail, holderOfPhone } from "./verified.ts"

/** User names are unique within an instance, whatever the spelling. */
const loginClaim = "login_name"

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

const isSameName = (one: string, other: string): boolean =>
  loginNameKeys(one)[0] === loginNameKeys(other)[0]

type Rename = { readonly id: string; readonly before: LoginNames; readonly userName: string }

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
 * The names that somebody signs in with: their own, and with each domain of their organisation
 * behind it. Only the first is kept, the others follow the domains.
 */
export function loginNamesOf(
  userName: string,
  home: Pick<Org, "primaryDomain" | "domains">,
  policy: DomainPolicy,
): readonly string[] {
  const long = heldDomains(home).map((domain) => `${userName}@${domain}`)
  return policy.userLoginMustBeDomain ? long : [userName, ...long]
}

/** The same for a user as they are listed, and the one that they are shown by. */
export function shownNames(cx: Cx, row: { readonly user_name: string; readonly org: string }) {
  const policy = policyOf(cx, row.org, domainPolicy)
  const loginNames = loginNamesOf(row.user_name, cx.store.state(cx, org, row.org), policy)
  return { loginNames: [...loginNames], preferredLoginName: loginNames[0] ?? row.user_name }
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

/**
 * The user who signs in with a name, however it is spelled. Names of old may have what nobody sees:
 * who has one is found by that, and by no other spelling. An address or a phone number belongs to
 * whoever has proven it, also where somebody else is named like it: that user signs in by the
 * longer form of the name. Who has no such name may be found by an address or a number that is
 * verified.
 */
export const findByLoginName = (cx: Cx, text: string): string | undefined =>
  findByHeldContact(cx, text) ??
  findByUserName(cx, text) ??
  findByContact(cx, text) ??
  findByCapitals(cx, text)

/** The same by nothing but a name. */
export const findByUserName = (cx: Cx, text: string): string | undefined =>
  findFolded(cx, foldExceptSigma(text.trim())) ?? findFolded(cx, canonical(text))

/**
 * Who alone has an address that differs in its sigmas: in capitals nobody can write which one it
 * has. Such an address is looked for only here; to its mail server it may be another mailbox.
 */
function findByCapitals(cx: Cx, text: string): string | undefined {
  if (addressIn(text)?.of !== "email") return undefined
  const typed = foldEmail(text.trim())
  const others = loginNameKeys(typed).filter((form) => form !== typed)
  const found = others.map((form) => findByHeldContact(cx, form) ?? findByContact(cx, form))
  const [only, another] = new Set(found.filter((id) => id !== undefined))
  return another === undefined ? only : undefined
}

type Contact = { readonly id: string; readonly org: string }

const byEmail = statement<Contact>(
  `SELECT id, org FROM users
   WHERE instance = $instance AND ${hasEmail} AND email_verified = 1 LIMIT 2`,
)
const byPhone = statement<Contact>(
  `SELECT id, org FROM users
   WHERE instance = $instance AND phone = $phone AND phone_verified = 1 LIMIT 2`,
)

type Address = { readonly of: "email" | "phone"; readonly value: string }

/** What somebody types as an email address or a phone number; undefined for anything else. */
function addressIn(text: string): Address | undefined {
  const typed = text.trim()
  if (partsOf(foldExceptSigma(typed))) return { of: "email", value: typed }
  const number = typed.replace(/[\s().-]/g, "")
  return /^\+[1-9]\d{6,14}$/.test(number) ? { of: "phone", value: number } : undefined
}

const holderOf = (cx: Cx, { of, value }: Address): string | undefined =>
  of === "email" ? holderOfEmail(cx, value) : holderOfPhone(cx, value)

/**
 * The user that an address or a phone number belongs to in the whole instance, if they may sign in
 * by it.
 */
function findByHeldContact(cx: Cx, text: string): string | undefined {
  const address = addressIn(text)
  const held = address && holderOf(cx, address)
  if (!address || held === undefined) return undefined
  const twin = address.of === "email" ? twinSpelled(cx, address.value, held) : undefined
  if (twin !== undefined) return twin
  const org = cx.store.receipt(cx, user, held)?.owner ?? ""
  return maySignInBy(cx, { id: held, org }, address.of) ? held : undefined
}

/**
 * Earlier versions took two spellings of one address for two. Of two users who have proven one
 * each, who is named by the spelling that was typed keeps signing in by it. Nobody else can make a
 * name find somebody else than the holder of the address.
 */
function twinSpelled(cx: Cx, typed: string, held: string): string | undefined {
  if (foldedForms(typed).length === 1) return undefined
  const emailOf = (id: string) => {
    const state = cx.store.state(cx, user, id)
    if (hasLeft(state) || state.kind !== "human" || !state.email.verified) return undefined
    const isTyped = foldExceptSigma(state.email.address) === foldExceptSigma(typed)
    return isTyped ? state.email : undefined
  }
  if (emailOf(held)) return undefined
  const twin = findByUserName(cx, typed)
  return twin !== undefined && emailOf(twin)?.verifier?.by === "user" ? twin : undefined
}

/**
 * Who alone has a verified address or phone number that belongs to nobody in the whole instance,
 * where their organization lets them sign in by it. What ends in a domain that an organization has
 * proven finds its own people alone, as with names.
 */
function findByContact(cx: Cx, text: string): string | undefined {
  const address = addressIn(text)
  if (!address || holderOf(cx, address) !== undefined) return undefined
  const { of, value } = address
  const [only, another] =
    of === "email"
      ? cx.store.all(cx, byEmail, emailValues(value))
      : cx.store.all(cx, byPhone, { phone: value })
  if (!only || another) return undefined
  const parts = partsOf(foldExceptSigma(value))
  const home = parts && orgOfProvenDomain(cx, parts.domain)
  const isElsewhere = home !== undefined && home !== only.org
  if (isElsewhere || !isOrgThere(cx, only.org)) return undefined
  return maySignInBy(cx, only, of) ? only.id : undefined
}

function maySignInBy(
  cx: Cx,
  person: { readonly id: string; readonly org: string },
  of: "email" | "phone",
): boolean {
  const whose = { userId: person.id, orgId: person.org }
  const { disableLoginWithEmail, disableLoginWithPhone } = policyFor(cx, whose, login)
  return of === "email" ? !disableLoginWithEmail : !disableLoginWithPhone
}

/**
 * A name that ends in a domain that an organisation has proven is that organisation's to give:
 * nobody else is found by it, whatever they are called. Where it holds the domain on trust, it is
 * also found by.
 */
function findFolded(cx: Cx, name: string): string | undefined {
  const parts = partsOf(name)
  const home = parts && orgOfDomain(cx, parts.domain)
  const own = named(cx, name)
  const plain = own && isShortEnough(cx, own.orgId) ? own.id : undefined
  if (!parts || home === undefined) return plain
  const theirs = [own, named(cx, parts.local)].find((each) => each?.orgId === home)?.id
  return orgOfProvenDomain(cx, parts.domain) === home ? theirs : (plain ?? theirs)
}

/** Whether a name counts without a domain of its organisation behind it. */
const isShortEnough = (cx: Cx, orgId: string): boolean =>
  !policyOf(cx, orgId, domainPolicy).userLoginMustBeDomain

/** The user of a name. Claims of old also stand for longer forms, which count no more. */
function named(cx: Cx, name: string) {
  // Two who took one name in two spellings before these were compared are each found by theirs.
  const forms = new Set([foldExceptSigma(name), foldEmail(name), ...loginNameForms(name)])
  const all = [...forms].map((form) =>
    cx.store.log.holder(cx.instance, loginClaim, form, cx.clock.now()),
  )
  const holder = all.find((each) => each?.stream === user.stream)
  if (!holder) return undefined
  const state = cx.store.state(cx, user, holder.id)
  if (hasLeft(state) || !isSameName(state.userName, name)) return undefined
  const orgId = cx.store.receipt(cx, user, holder.id)?.owner ?? ""
  return isOrgThere(cx, orgId) ? { id: holder.id, orgId } : undefined
}

type Wanted = { readonly id: string; readonly orgId: string; readonly userName: string }

/**
 * Refuses a user name of which some form is somebody else's, or that ends in a domain that another
 * organisation has proven; one that is held on trust keeps nobody out. Two who ask at the same
 * moment may both get theirs; then the longer one counts.
 */
export function mustBeFree(cx: Decision, wanted: Wanted): void {
  const refusal = formRefusal(cx, wanted)
  if (refusal) throw refusal
}

/** Why somebody new can't be called so, if they can't. */
export const nameRefusal = (cx: Decision, wanted: Wanted): Fault | undefined =>
  holderIn(cx, loginClaim, wanted.userName) ? nameTakenError() : formRefusal(cx, wanted)

function formRefusal(cx: Decision, { id, orgId, userName }: Wanted): Fault | undefined {
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

/** How the two parts of a name are compared for the whole of it to be found. */
const halves: Readonly<Record<TextMethod, { local: TextMethod; domain: TextMethod }>> = {
  equals: { local: "equals", domain: "equals" },
  starts_with: { local: "equals", domain: "starts_with" },
  ends_with: { local: "ends_with", domain: "equals" },
  contains: { local: "ends_with", domain: "starts_with" },
}

/** Finds users by any of their login names; case says nothing there. */
export function loginNameFilter(text: string, method: TextMethod): Filter {
  const value = foldExceptSigma(text)
  const plain: Filter = { text: "user_name_folded", method, value }
  const at = value.lastIndexOf("@")
  if (at >= 0) {
    const { local, domain } = halves[method]
    const home = inOrgWithDomain(domain, value.slice(at + 1))
    const name: Filter = { text: "user_name_folded", method: local, value: value.slice(0, at) }
    return { any: [plain, { all: [home, name] }] }
  }
  if (method === "equals" || method === "starts_with") return plain
  return { any: [plain, inOrgWithDomain(method, value)] }
}
