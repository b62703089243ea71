import { createCode } from "../../../domain/credential/index.ts"
import { secondFactorsOf } from "../../../domain/factor/index.ts"
import {
  type AuthenticatedAnswer,
  findIdpById,
  type Identity,
  type Intent,
  isAuthorityCurrent,
  type Options,
  type OwnedIdp,
  withoutScripts,
} from "../../../domain/idp/index.ts"
import { listMemberships } from "../../../domain/member/index.ts"
import { addUser, type NewHuman, updateUser } from "../../../domain/user/index.ts"
import {
  addLink,
  type ExternalAccount,
  findLinkedUser,
  findUserToSignIn,
  isProviderActiveFor,
  isProviderActiveIn,
} from "../../../domain/user-link/index.ts"
import { findCandidates } from "../../../domain/user-lookup/index.ts"
import { user, type Verifier } from "../../../domain/user-model/index.ts"
import { freshSignInSeconds } from "../../../protocol/freshness.ts"
import { isPhone, isSameEmail, isSamePhone } from "../../../protocol/user-field.ts"
import type { Cx, Transaction } from "../../../store/index.ts"
import type { LoginContext } from "../../context.ts"
import { findMissing, type PresentSession } from "../../flow.ts"
import { requirementFor } from "../../policy/factor-requirement.ts"
import { newUserOrgOf } from "../../sign-in/script.ts"
import { findDomainRejection } from "./allowed-domain.ts"
import { type AccountDecision, type Candidate, decide } from "./rule.ts"

/** A user who came from a provider, and the provider. */
export type Newcomer = {
  readonly intent: Intent
  readonly found: OwnedIdp
  readonly identity: Identity
  /** Whether the provider has just responded and the result is not stored yet. */
  readonly isFresh?: boolean
}

/**
 * What is allowed for a user who came from a provider: an account is created only if the
 * organization accepts the provider and the allowed domains of the provider include the user's.
 */
export function optionsFor({ cx, waiting }: LoginContext, newcomer: Newcomer): Options {
  const { found } = newcomer
  const { options, id } = found.idp
  const mayCome = isProviderActiveIn(cx, id, newUserOrgOf(cx, found, waiting))
  const isCreationAllowed = options.isCreationAllowed && mayCome && !findDomainRejection(newcomer)
  return { ...options, isCreationAllowed }
}

/** Decides which account the user receives. */
export function decideAccount(loginContext: LoginContext, newcomer: Newcomer): AccountDecision {
  const { cx } = loginContext
  const { intent, identity } = newcomer
  const external = { idpId: intent.idpId, externalId: identity.externalId }
  const existingUser = findUserToSignIn(cx, external)
  if (existingUser === undefined && findLinkedUser(cx, external) !== undefined)
    return { kind: "barred" }
  const { email, emailVerified, givenName, familyName } = identity
  return decide({
    options: optionsFor(loginContext, newcomer),
    identity: {
      email,
      emailVerified,
      isEmailTrusted: canLinkByEmail(newcomer.found),
      isComplete: email !== "" && givenName !== "" && familyName !== "",
    },
    linkedUser: existingUser,
    candidates: existingUser === undefined ? listCandidates(loginContext, newcomer) : [],
  })
}

/**
 * Whether an email address from the provider is sufficient to link an account. An organization's
 * provider admits only its own users; a provider of the instance reaches users of all
 * organizations, so it must be trusted itself. An organization's statement, including the addresses
 * of its trusted directory, must not reach that far.
 */
const canLinkByEmail = ({ idp: { options }, place }: OwnedIdp): boolean =>
  place !== undefined ||
  (options.isTrustedForAddresses === true && !options.trustDirectoryAddresses)

/** Existing accounts that may belong to the user; not determined for linked users. */
const listCandidates = (
  { cx, waiting }: LoginContext,
  { intent, found, identity }: Newcomer,
): readonly Candidate[] =>
  findCandidates(cx, { idpId: found.idp.id, orgId: newUserOrgOf(cx, found, waiting), ...identity })
    .filter(({ userId }) => isUserOfScriptOrg(cx, userId, intent.answered))
    .map((candidate) => ({
      ...candidate,
      isAdministrator: listMemberships(cx, candidate.userId).length > 0,
    }))

/** An email address that a script set identifies only users of the script's organization. */
function isUserOfScriptOrg(
  cx: Cx,
  userId: string,
  { identity, scripted }: AuthenticatedAnswer,
): boolean {
  if (!scripted) return true
  const { said: entered, orgId } = scripted
  const isSame =
    isSameEmail(entered.email, identity.email) && entered.emailVerified === identity.emailVerified
  return isSame || cx.store.receipt(cx, user, userId)?.owner === orgId
}

/**
 * The newcomer of an intent of this browser; undefined if the intent is over, the provider was
 * removed, or the intent belongs to another sign-in, which determines the offered providers, the
 * scripts, and the organization of new accounts.
 */
export function findNewcomer(
  { cx, waiting }: LoginContext,
  intent: Intent | undefined,
): Newcomer | undefined {
  if (intent?.requestId !== (waiting?.id ?? "")) return undefined
  const found = isAuthorityCurrent(cx, intent) ? findIdpById(cx, intent.idpId) : undefined
  return intent && found && { intent, found, identity: intent.answered.identity }
}

/** The sign-in was fresh at the beginning; this is the time for the provider round trip. */
const recentSeconds = 2 * freshSignInSeconds - 1

/**
 * Sessions of users who recently signed in here with all required factors, which is sufficient
 * proof to link the account. A linked account grants permanent access, and another person may be
 * using the browser by now, so older sign-ins are not sufficient.
 */
export function recentlySignedIn(
  { cx, browserContext }: LoginContext,
  idp: OwnedIdp,
): readonly PresentSession[] {
  const now = cx.clock.now()
  return browserContext.present.filter((session) => {
    const { userId } = session
    // The configured lifetimes of first factors don't matter, because half an hour is shorter.
    const lifetimes = { firstLifetime: Infinity, externalLifetime: Infinity }
    const need = { ...requirementFor(cx, session), ...lifetimes }
    const required = { need, maxAgeSeconds: recentSeconds, since: now }
    if (findMissing(session, required, now)) return false
    return isProviderActiveFor(cx, idp.idp.id, userId)
  })
}

/** Data that the user can enter instead of the provider's. */
export type EnteredData = Pick<Identity, "givenName" | "familyName" | "email" | "userName">

/** A new user with the data of the provider; an entered email address is not verified. */
export function newUserOf(
  { cx, waiting }: LoginContext,
  userId: string,
  newcomer: Newcomer & { readonly said: EnteredData },
): NewHuman {
  const { found, identity, said: entered } = newcomer
  const verified = identity.emailVerified && isSameEmail(entered.email, identity.email)
  const verifiers = verifiersOf(newcomer)
  const { nickName, displayName, preferredLanguage, phone, phoneVerified } = identity
  return {
    kind: "human",
    orgId: newUserOrgOf(cx, found, waiting),
    userName: entered.userName || entered.email,
    profile: {
      givenName: entered.givenName,
      familyName: entered.familyName,
      nickName,
      displayName,
      preferredLanguage,
    },
    email: {
      value: entered.email,
      verified,
      verifier: verifiers.email,
      ...(!verified && { code: createCode(cx, userId, { of: "email", returned: false }) }),
    },
    // Providers often return national phone numbers, which are not valid here.
    ...(isPhone(phone) && {
      phone: { value: phone, verified: phoneVerified, verifier: verifiers.phone },
    }),
  }
}

/**
 * Who verified the contact data: the instance for its own provider; otherwise the organization that
 * owns the provider, or whose script changed the response. For a directory with trusted addresses
 * it is always the organization: the directory states the addresses and has not checked that the
 * user receives messages there.
 */
function verifiersOf({ found, identity, intent }: Newcomer) {
  const byProvider: Verifier =
    found.place === undefined && !found.idp.options.trustDirectoryAddresses
      ? { by: "provider", idpId: found.idp.id }
      : { by: "organization" }
  const { email, emailVerified, phone, phoneVerified } = withoutScripts(intent.answered).identity
  const isOwnEmail = emailVerified && isSameEmail(email, identity.email)
  const isOwnPhone = phoneVerified && isSamePhone(phone, identity.phone)
  const otherwise: Verifier = { by: "organization" }
  return {
    email: isOwnEmail ? byProvider : otherwise,
    phone: isOwnPhone ? byProvider : otherwise,
  }
}

/** Adds a user with a linked account, as part of a transaction. */
export function addNewcomer(
  tx: Transaction,
  userId: string,
  { newcomer, person }: { readonly newcomer: Newcomer; readonly person: NewHuman },
): void {
  addUser(tx, userId, person)
  addLink(tx, userId, { ...externalAccountOf(newcomer), isFirst: true })
}

/** Links an existing user. */
export const linkUser = (tx: Transaction, userId: string, newcomer: Newcomer): void =>
  addLink(tx, userId, externalAccountOf(newcomer))

function externalAccountOf({ found, identity }: Newcomer): ExternalAccount {
  const { externalId, userName, email } = identity
  return { idpId: found.idp.id, externalId, name: userName || email || externalId }
}

/**
 * Updates a profile from the provider's data, if the provider is configured to; absent fields
 * remain unchanged. For administrators, only the provider's own data is used, without scripts:
 * otherwise anyone who can edit scripts could set their own email address for an administrator and
 * take over the account.
 */
export function updateProfile(
  cx: Cx,
  tx: Transaction,
  { userId, newcomer }: { readonly userId: string; readonly newcomer: Newcomer },
): void {
  const { found, intent } = newcomer
  if (!found.idp.options.isAutoUpdate) return
  const isAdministrator = listMemberships(cx, userId).length > 0
  const { identity } = isAdministrator ? withoutScripts(intent.answered) : intent.answered
  const { givenName, familyName, nickName, displayName, preferredLanguage } = identity
  const names = identity.isNameDivided ? {} : { givenName, familyName }
  const profileFields = { ...names, nickName, displayName, preferredLanguage }
  const profile = Object.fromEntries(
    Object.entries(profileFields).filter(([, value]) => value !== ""),
  )
  const { email, emailVerified, phone, phoneVerified } = identity
  // A phone number that receives codes is a second factor, which a provider must not change.
  const isFactor = secondFactorsOf(tx.state(user, userId)).includes("otp_sms")
  const hasPhone = phoneVerified && isPhone(phone) && !isFactor
  const verifiers = verifiersOf({ ...newcomer, identity })
  updateUser.within(tx, userId, {
    human: {
      profile,
      ...(email &&
        emailVerified && { email: { value: email, verified: true, verifier: verifiers.email } }),
      ...(hasPhone && { phone: { value: phone, verified: true, verifier: verifiers.phone } }),
    },
  })
}
