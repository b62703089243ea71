import { canonicalName, foldExceptSigma } from "../../kernel/text/name.ts"
import { foldEmail, listFoldedForms, loginNameForms, loginNameKeys } from "../../protocol/email.ts"
import { splitAtDomain } from "../../protocol/user-field.ts"
import { type Cx, type Filter, statement, type TextMethod } from "../../store/index.ts"
import {
  findOrgByDomain,
  findOrgByVerifiedDomain,
  inOrgWithDomain,
  loginDomains,
  type Org,
  org,
  orgExists,
} from "../org/index.ts"
import { domainPolicy, login, policyFor, policyOf } from "../policy/index.ts"
import { isSameName, loginClaim } from "../user/index.ts"
import { isAbsent, user } from "../user-model/index.ts"
import { findEmailHolder, findPhoneHolder } from "./verified.ts"
import { emailValues, hasEmail } from "./view.ts"

/**
 * Login names of a user: the user name, and the user name with each domain of the organization.
 * Only the user name is stored; the others follow the domains.
 */
export function allLoginNames(
  userName: string,
  home: Pick<Org, "primaryDomain" | "domains">,
  policy: typeof domainPolicy.standard,
): readonly string[] {
  const long = loginDomains(home).map((domain) => `${userName}@${domain}`)
  return policy.userLoginMustBeDomain ? long : [userName, ...long]
}

/** Login names of a listed user, and the preferred one. */
export function displayNames(cx: Cx, row: { readonly user_name: string; readonly org: string }) {
  const policy = policyOf(cx, row.org, domainPolicy)
  const loginNames = allLoginNames(row.user_name, cx.store.state(cx, org, row.org), policy)
  return { loginNames: [...loginNames], preferredLoginName: loginNames[0] ?? row.user_name }
}

/**
 * Finds the user of a login name, ignoring case and normalization. Older names can contain
 * invisible characters and are found only by that exact spelling. A verified address or phone
 * number finds its owner first, even if another user has it as user name; that user signs in with
 * the longer form. Other verified contacts come last.
 */
export const findByLoginName = (cx: Cx, text: string): string | undefined =>
  findContactHolder(cx, text) ??
  findByUserName(cx, text) ??
  findByContact(cx, text) ??
  findByEmailWithoutSigma(cx, text)

/** Finds a user by name only. */
export const findByUserName = (cx: Cx, text: string): string | undefined =>
  findFolded(cx, foldExceptSigma(text.trim())) ?? findFolded(cx, canonicalName(text))

/**
 * Finds the only user whose address differs in sigma letters: in capitals the two lower-case forms
 * can't be distinguished. Used as a last resort, because the addresses may be different mailboxes.
 */
function findByEmailWithoutSigma(cx: Cx, text: string): string | undefined {
  if (parseAddress(text)?.of !== "email") return undefined
  const typed = foldEmail(text.trim())
  const others = loginNameKeys(typed).filter((form) => form !== typed)
  const found = others.map((form) => findContactHolder(cx, form) ?? findByContact(cx, form))
  const [only, another] = new Set(found.filter((id) => id !== undefined))
  return another === undefined ? only : undefined
}

type ContactRow = { readonly id: string; readonly org: string }

const selectByEmail = statement<ContactRow>(
  `SELECT id, org FROM users
   WHERE instance = $instance AND ${hasEmail} AND email_verified = 1 LIMIT 2`,
)
const selectByPhone = statement<ContactRow>(
  `SELECT id, org FROM users
   WHERE instance = $instance AND phone = $phone AND phone_verified = 1 LIMIT 2`,
)

type ContactAddress = { readonly of: "email" | "phone"; readonly value: string }

/** Parses an email address or a phone number; undefined for any other text. */
function parseAddress(text: string): ContactAddress | undefined {
  const typed = text.trim()
  if (splitAtDomain(foldExceptSigma(typed))) return { of: "email", value: typed }
  const number = typed.replace(/[\s().-]/g, "")
  return /^\+[1-9]\d{6,14}$/.test(number) ? { of: "phone", value: number } : undefined
}

const findHolder = (cx: Cx, { of, value }: ContactAddress): string | undefined =>
  of === "email" ? findEmailHolder(cx, value) : findPhoneHolder(cx, value)

/** The instance-wide holder of an address or phone number, if they can sign in with it. */
function findContactHolder(cx: Cx, text: string): string | undefined {
  const address = parseAddress(text)
  const storedAddress = address && findHolder(cx, address)
  if (!address || storedAddress === undefined) return undefined
  const twin =
    address.of === "email" ? findByExactSpelling(cx, address.value, storedAddress) : undefined
  if (twin !== undefined) return twin
  const org = cx.store.receipt(cx, user, storedAddress)?.owner ?? ""
  return canSignInBy(cx, { id: storedAddress, org }, address.of) ? storedAddress : undefined
}

/**
 * Earlier versions treated two spellings of an address as different. If two users verified one
 * spelling each, the one with the typed spelling as name keeps signing in with it. No one else can
 * redirect a name to another user.
 */
function findByExactSpelling(cx: Cx, typed: string, storedAddress: string): string | undefined {
  if (listFoldedForms(typed).length === 1) return undefined
  const emailOf = (id: string) => {
    const state = cx.store.state(cx, user, id)
    if (isAbsent(state) || state.kind !== "human" || !state.email.verified) return undefined
    const isTyped = foldExceptSigma(state.email.address) === foldExceptSigma(typed)
    return isTyped ? state.email : undefined
  }
  if (emailOf(storedAddress)) return undefined
  const twin = findByUserName(cx, typed)
  return twin !== undefined && emailOf(twin)?.verifier?.by === "user" ? twin : undefined
}

/**
 * The only user with a verified address or phone number that has no instance-wide holder, if the
 * organization allows it for sign-in. Addresses in a verified domain of an organization find only
 * its users.
 */
function findByContact(cx: Cx, text: string): string | undefined {
  const address = parseAddress(text)
  if (!address || findHolder(cx, address) !== undefined) return undefined
  const { of, value } = address
  const [only, another] =
    of === "email"
      ? cx.store.all(cx, selectByEmail, emailValues(value))
      : cx.store.all(cx, selectByPhone, { phone: value })
  if (!only || another) return undefined
  const parts = splitAtDomain(foldExceptSigma(value))
  const home = parts && findOrgByVerifiedDomain(cx, parts.domain)
  const isElsewhere = home !== undefined && home !== only.org
  if (isElsewhere || !orgExists(cx, only.org)) return undefined
  return canSignInBy(cx, only, of) ? only.id : undefined
}

function canSignInBy(
  cx: Cx,
  person: { readonly id: string; readonly org: string },
  of: "email" | "phone",
): boolean {
  const member = { userId: person.id, orgId: person.org }
  const { disableLoginWithEmail, disableLoginWithPhone } = policyFor(cx, member, login)
  return of === "email" ? !disableLoginWithEmail : !disableLoginWithPhone
}

/**
 * A name in a verified domain of an organization finds only users of that organization. Domains
 * that don't require verification can also be used.
 */
function findFolded(cx: Cx, name: string): string | undefined {
  const parts = splitAtDomain(name)
  const home = parts && findOrgByDomain(cx, parts.domain)
  const own = findByClaim(cx, name)
  const plain = own && isShortNameAllowed(cx, own.orgId) ? own.id : undefined
  if (!parts || home === undefined) return plain
  const theirs = [own, findByClaim(cx, parts.local)].find((each) => each?.orgId === home)?.id
  return findOrgByVerifiedDomain(cx, parts.domain) === home ? theirs : (plain ?? theirs)
}

/** Whether the user name is a login name without the organization's domain. */
const isShortNameAllowed = (cx: Cx, orgId: string): boolean =>
  !policyOf(cx, orgId, domainPolicy).userLoginMustBeDomain

/** The user who claims a name. Old claims of longer forms are ignored. */
function findByClaim(cx: Cx, name: string) {
  // Users who claimed two spellings of a name before these were equal are each found by their own.
  const forms = new Set([foldExceptSigma(name), foldEmail(name), ...loginNameForms(name)])
  const all = [...forms].map((form) =>
    cx.store.log.holder(cx.instance, loginClaim, form, cx.clock.now()),
  )
  const holder = all.find((each) => each?.stream === user.stream)
  if (!holder) return undefined
  const state = cx.store.state(cx, user, holder.id)
  if (isAbsent(state) || !isSameName(state.userName, name)) return undefined
  const orgId = cx.store.receipt(cx, user, holder.id)?.owner ?? ""
  return orgExists(cx, orgId) ? { id: holder.id, orgId } : undefined
}

/** How the parts of a login name are compared so that the whole matches. */
const partMethods: Readonly<Record<TextMethod, { local: TextMethod; domain: TextMethod }>> = {
  equals: { local: "equals", domain: "equals" },
  starts_with: { local: "equals", domain: "starts_with" },
  ends_with: { local: "ends_with", domain: "equals" },
  contains: { local: "ends_with", domain: "starts_with" },
}

/** Filters users by any of their login names, ignoring case. */
export function loginNameFilter(text: string, method: TextMethod): Filter {
  const value = foldExceptSigma(text)
  const plain: Filter = { text: "user_name_folded", method, value }
  const at = value.lastIndexOf("@")
  if (at >= 0) {
    const { local, domain } = partMethods[method]
    const home = inOrgWithDomain(domain, value.slice(at + 1))
    const name: Filter = { text: "user_name_folded", method: local, value: value.slice(0, at) }
    return { any: [plain, { all: [home, name] }] }
  }
  if (method === "equals" || method === "starts_with") return plain
  return { any: [plain, inOrgWithDomain(method, value)] }
}
