import { createCode } from "../../../domain/credential/index.ts"
import { secondFactorsOf } from "../../../domain/factor/index.ts"
import {
  type Answered,
  type Found,
  type Identity,
  type Intent,
  idpById,
  isNow,
  type Options,
  unscripted,
} from "../../../domain/idp/index.ts"
import { memberships } from "../../../domain/member/index.ts"
import { addUser, type NewHuman, updateUser } from "../../../domain/user/index.ts"
import {
  addLink,
  type External,
  letsIn,
  letsUserIn,
  linkedUser,
  userLetIn,
} from "../../../domain/user-link/index.ts"
import { candidatesFor } from "../../../domain/user-lookup/index.ts"
import { user, type Verifier } from "../../../domain/user-model/index.ts"
import { freshSeconds } from "../../../protocol/freshness.ts"
import { isPhone, isSameEmail, isSamePhone } from "../../../protocol/user-field.ts"
import type { Cx, Transaction } from "../../../store/index.ts"
import type { LoginContext } from "../../context.ts"
import { newcomersHome } from "../../entered/script.ts"
import { missingFrom, type Present } from "../../flow.ts"
import { needFor } from "../../policy/need.ts"
import { domainRefusalOf } from "./allowed-domain.ts"
import { type Candidate, type Verdict, verdictOn } from "./rule.ts"

/** Somebody who has come from a provider, and the provider. */
export type Newcomer = {
  readonly intent: Intent
  readonly found: Found
  readonly identity: Identity
  /** Whether the provider has only just answered, and nothing of it is kept yet. */
  readonly isFresh?: boolean
}

/**
 * What may be done with who comes from a provider: an account is made where the organisation that
 * gets it lets its people in by that, and the allowed domains of the provider include theirs.
 */
export function optionsFor({ cx, waiting }: LoginContext, newcomer: Newcomer): Options {
  const { found } = newcomer
  const { options, id } = found.idp
  const mayCome = letsIn(cx, id, newcomersHome(cx, found, waiting))
  const isCreationAllowed = options.isCreationAllowed && mayCome && !domainRefusalOf(newcomer)
  return { ...options, isCreationAllowed }
}

/** Decides whose account it is. */
export function judged(loginContext: LoginContext, newcomer: Newcomer): Verdict {
  const { cx } = loginContext
  const { intent, identity } = newcomer
  const external = { idpId: intent.idpId, externalId: identity.externalId }
  const known = userLetIn(cx, external)
  if (known === undefined && linkedUser(cx, external) !== undefined) return { kind: "barred" }
  const { email, emailVerified, givenName, familyName } = identity
  return verdictOn({
    options: optionsFor(loginContext, newcomer),
    identity: {
      email,
      emailVerified,
      isEmailTrusted: mayLinkByEmail(newcomer.found),
      isComplete: email !== "" && givenName !== "" && familyName !== "",
    },
    linkedUser: known,
    candidates: known === undefined ? candidatesNow(loginContext, newcomer) : [],
  })
}

/**
 * Whether a provider's word for an address links an account: an organization's provider lets in its
 * own people alone, and one of the instance reaches the people of every organization. The word of
 * an organization, as which the addresses of a trusted directory count, must not reach so far.
 */
const mayLinkByEmail = ({ idp: { options }, place }: Found): boolean =>
  place !== undefined ||
  (options.isTrustedForAddresses === true && !options.trustDirectoryAddresses)

/** Who else it may be; of somebody who is linked nobody asks. */
const candidatesNow = (
  { cx, waiting }: LoginContext,
  { intent, found, identity }: Newcomer,
): readonly Candidate[] =>
  candidatesFor(cx, { idpId: found.idp.id, orgId: newcomersHome(cx, found, waiting), ...identity })
    .filter(({ userId }) => isWithin(cx, userId, intent.answered))
    .map((candidate) => ({
      ...candidate,
      isAdministrator: memberships(cx, candidate.userId).length > 0,
    }))

/** Whose address a script has said is known by it to its own organisation alone. */
function isWithin(cx: Cx, userId: string, { identity, scripted }: Answered): boolean {
  if (!scripted) return true
  const { said, orgId } = scripted
  const isSame =
    isSameEmail(said.email, identity.email) && said.emailVerified === identity.emailVerified
  return isSame || cx.store.receipt(cx, user, userId)?.owner === orgId
}

/**
 * The newcomer of an intent of this browser; undefined where it is over, or the provider gone, or
 * it is for another sign-in: that decides which providers are offered, whose scripts are asked, and
 * where an account is made.
 */
export function newcomerOf(
  { cx, waiting }: LoginContext,
  intent: Intent | undefined,
): Newcomer | undefined {
  if (intent?.requestId !== (waiting?.id ?? "")) return undefined
  const found = isNow(cx, intent) ? idpById(cx, intent.idpId) : undefined
  return intent && found && { intent, found, identity: intent.answered.identity }
}

/** The sign-in was fresh when it began; so long it may take to go there and come back. */
const recentSeconds = 2 * freshSeconds - 1

/**
 * Who has signed in here lately, with all that is asked of them: that is proof enough to link them.
 * What is linked lets somebody in from then on, and whoever sits there now may be somebody else.
 */
export function provenHere({ cx, browserContext }: LoginContext, found: Found): readonly Present[] {
  const now = cx.clock.now()
  return browserContext.present.filter((session) => {
    const { userId } = session
    // How long a first factor may be used again does not matter: half an hour is less.
    const lifetimes = { firstLifetime: Infinity, externalLifetime: Infinity }
    const need = { ...needFor(cx, session), ...lifetimes }
    const required = { need, maxAgeSeconds: recentSeconds, since: now }
    if (missingFrom(session, required, now)) return false
    return letsUserIn(cx, found.idp.id, userId)
  })
}

/** What a person may say otherwise than their provider. */
export type Said = Pick<Identity, "givenName" | "familyName" | "email" | "userName">

/** A new person, as the provider tells of them; an address that they type is not verified. */
export function personOf(
  { cx, waiting }: LoginContext,
  userId: string,
  newcomer: Newcomer & { readonly said: Said },
): NewHuman {
  const { found, identity, said } = newcomer
  const verified = identity.emailVerified && isSameEmail(said.email, identity.email)
  const verifiers = verifiersOf(newcomer)
  const { nickName, displayName, preferredLanguage, phone, phoneVerified } = identity
  return {
    kind: "human",
    orgId: newcomersHome(cx, found, waiting),
    userName: said.userName || said.email,
    profile: {
      givenName: said.givenName,
      familyName: said.familyName,
      nickName,
      displayName,
      preferredLanguage,
    },
    email: {
      value: said.email,
      verified,
      verifier: verifiers.email,
      ...(!verified && { code: createCode(cx, userId, { of: "email", returned: false }) }),
    },
    // Many write numbers as people at home dial them: those are nobody's elsewhere.
    ...(isPhone(phone) && {
      phone: { value: phone, verified: phoneVerified, verifier: verifiers.phone },
    }),
  }
}

/**
 * Who verifies the addresses that somebody comes with: a provider of the instance; else the
 * organization whose provider it is, or whose script has changed what the provider said. Of a
 * directory whose addresses are trusted it is always the organization: the directory states them,
 * and has not asked whether the person receives what is sent there.
 */
function verifiersOf({ found, identity, intent }: Newcomer) {
  const byProvider: Verifier =
    found.place === undefined && !found.idp.options.trustDirectoryAddresses
      ? { by: "provider", idpId: found.idp.id }
      : { by: "organization" }
  const { email, emailVerified, phone, phoneVerified } = unscripted(intent.answered).identity
  const isOwnEmail = emailVerified && isSameEmail(email, identity.email)
  const isOwnPhone = phoneVerified && isSamePhone(phone, identity.phone)
  const otherwise: Verifier = { by: "organization" }
  return {
    email: isOwnEmail ? byProvider : otherwise,
    phone: isOwnPhone ? byProvider : otherwise,
  }
}

/** Adds a person and links them, as a part of a step. */
export function addPerson(
  tx: Transaction,
  userId: string,
  { newcomer, person }: { readonly newcomer: Newcomer; readonly person: NewHuman },
): void {
  addUser(tx, userId, person)
  addLink(tx, userId, { ...externalOf(newcomer), isFirst: true })
}

/** Links somebody who is there already. */
export const link = (tx: Transaction, userId: string, newcomer: Newcomer): void =>
  addLink(tx, userId, externalOf(newcomer))

function externalOf({ found, identity }: Newcomer): External {
  const { externalId, userName, email } = identity
  return { idpId: found.idp.id, externalId, name: userName || email || externalId }
}

/**
 * Has a profile follow what the provider says, where it is set up so; what it leaves out stays. For
 * who administers something only its own words count: whoever may set scripts could else give
 * themself the address of somebody who may do more, and with it the account.
 */
export function follow(
  cx: Cx,
  tx: Transaction,
  { userId, newcomer }: { readonly userId: string; readonly newcomer: Newcomer },
): void {
  const { found, intent } = newcomer
  if (!found.idp.options.isAutoUpdate) return
  const isAdministrator = memberships(cx, userId).length > 0
  const { identity } = isAdministrator ? unscripted(intent.answered) : intent.answered
  const { givenName, familyName, nickName, displayName, preferredLanguage } = identity
  const names = identity.isNameDivided ? {} : { givenName, familyName }
  const told = { ...names, nickName, displayName, preferredLanguage }
  const profile = Object.fromEntries(Object.entries(told).filter(([, value]) => value !== ""))
  const { email, emailVerified, phone, phoneVerified } = identity
  // Where codes go to it the number is a factor of its own, which no provider replaces.
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
