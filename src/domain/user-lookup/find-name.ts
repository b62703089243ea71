import { canonical, foldExceptSigma } from "../../kernel/text/name.ts"
import { foldEmail, foldedForms, loginNameForms, loginNameKeys } from "../../protocol/email.ts"
import { partsOf } from "../../protocol/user-field.ts"
import { type Cx, type Filter, statement, type TextMethod } from "../../store/index.ts"
import {
  heldDomains,
  inOrgWithDomain,
  isOrgThere,
  type Org,
  org,
  orgOfDomain,
  orgOfProvenDomain,
} from "../org/index.ts"
import { domainPolicy, login, policyFor, policyOf } from "../policy/index.ts"
import { isSameName, loginClaim } from "../user/index.ts"
import { hasLeft, user } from "../user-model/index.ts"
import { holderOfEmail, holderOfPhone } from "./verified.ts"
import { emailValues, hasEmail } from "./view.ts"

/**
 * The names that somebody signs in with: their own, and with each domain of their organisation
 * behind it. Only the first is kept, the others follow the domains.
 */
export function loginNamesOf(
  userName: string,
  home: Pick<Org, "primaryDomain" | "domains">,
  policy: typeof domainPolicy.standard,
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
