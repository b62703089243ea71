import type { Factor } from "../domain/factor/index.ts"
import type { AuthorizationRequest } from "../domain/grant/index.ts"
import { type Session, signInEvidenceOf } from "../domain/session/index.ts"
import {
  type FreshnessRequirement,
  freshSignInSeconds,
  isFreshSignIn,
} from "../protocol/freshness.ts"

// Decides the next step of a sign-in in one pure function. Callers read all data beforehand.

/** The requirements of a sign-in request. */
export type SignInRequest = Pick<
  AuthorizationRequest,
  "prompts" | "maxAge" | "hintedUser" | "foreign"
> & {
  /** The user of the login_hint; empty if the name is unknown. */
  readonly suggestedUser?: string | undefined
  /** The session that was selected or created for this request; empty before. */
  readonly sessionId: string
  /** The session whose user consented to the request. */
  readonly consent?: string | undefined
  /** Whether no administrator has approved the application, so that users must consent. */
  readonly isUnvouched?: boolean
  /** Whether users who have a password must enter it, even after another kind of sign-in. */
  readonly needsPassword?: boolean | undefined
  /** Whether the user denied consent. */
  readonly isDenied?: boolean
  /** ms UTC. */
  readonly created: number
}

/** Policies for a request and for the user of each session. */
export type Policies = {
  /** Whether users without an account can register. */
  readonly mayRegister: boolean
  /** By session ID. */
  readonly sessions: ReadonlyMap<string, SessionPolicy>
}

/** Policies for the user of one session. */
export type SessionPolicy = {
  /** Why the user can't use the application; absent if they can. */
  readonly bar?: AccessBarrier | undefined
  /** The required factors besides a password; absent if there are none. */
  readonly need?: FactorRequirement | undefined
  /** Whether a remembered consent covers the request. */
  readonly isConsentRemembered?: boolean
}

/**
 * Why a user can't use the application: the request is for users of another organization
 * (`organisation`); the project requires a role ("roles") or requires that the user's organization
 * has the project ("project"); the application is only for assigned users and groups ("assigned"),
 * for users with a role on the project ("role"), or for other networks ("network").
 */
export type AccessBarrier = "organisation" | "roles" | "project" | "assigned" | "role" | "network"

/** The factors that a user must prove; lifetimes are in seconds. */
export type FactorRequirement = {
  /** Factors that the user has set up and can use, best first. */
  readonly factors: readonly Factor[]
  /** Factors that the user could set up. */
  readonly offered: readonly Factor[]
  /** Whether the policy requires a second factor for all users. */
  readonly isForced: boolean
  /** Whether that excludes users of an identity provider, which has its own factors. */
  readonly isLocalOnly: boolean
  /**
   * Whether the policy requires a second factor because this user is an administrator, whatever the
   * sign-in method. Administrators who can't set up any factor can still sign in, because only they
   * can change that.
   */
  readonly isForcedManager?: boolean
  /** Whether to offer factor setup again. */
  readonly isDue: boolean
  readonly secondLifetime: number
  readonly multiLifetime: number
  /** If the policy requires passkeys: whether the user has one; otherwise absent. */
  readonly passkeyAlone?:
    | {
        readonly isThere: boolean
        readonly canBeMade: boolean
        /** Whether an emailed link is accepted, too. */
        readonly orLink: boolean
      }
    | undefined
  /** Whether users who signed in by link also have a password. */
  readonly hasPassword: boolean
  /** How long a first factor that was verified before this request is valid. */
  readonly firstLifetime: number
  /** The same for sign-ins with an identity provider. */
  readonly externalLifetime: number
  /** Whether the user's organization does not accept the provider that vouched for them. */
  readonly isProviderClosed?: boolean
}

/** A user who is signed in to this browser. */
export type PresentSession = {
  readonly id: string
  readonly userId: string
  /** ms UTC. */
  readonly authTime: number
} & Pick<Session, "checks" | "userVerified" | "vouched">

/** The next step. `refuse`: the request ends without a sign-in. */
export type Step =
  | { readonly kind: "done"; readonly sessionId: string }
  | { readonly kind: "choose" }
  | { readonly kind: "login name" }
  | { readonly kind: "register" }
  /** `isLocal`: a provider sign-in is not sufficient; see `MissingFactor`. */
  | { readonly kind: "password"; readonly userId: string; readonly isLocal?: true }
  | { readonly kind: "factor"; readonly userId: string; readonly factors: readonly Factor[] }
  | {
      readonly kind: "set up"
      readonly userId: string
      readonly factors: readonly Factor[]
      readonly isForced: boolean
    }
  | { readonly kind: "consent"; readonly sessionId: string }
  | { readonly kind: "barred"; readonly sessionId: string; readonly bar: AccessBarrier }
  | { readonly kind: "refuse"; readonly why: "other person" | "denied" }
  /** `idpId`: the provider that did not sign in the user again. */
  | { readonly kind: "refuse"; readonly why: "not fresh"; readonly idpId: string }

/** Decides the next step of a request from the sessions of the browser. */
export function nextStep(
  request: SignInRequest,
  present: readonly PresentSession[],
  policies: Policies,
  now: number,
): Step {
  const { hintedUser, prompts } = request
  const policyOf = ({ id }: PresentSession): SessionPolicy => requirePolicy(policies, id)
  if (request.isDenied) return { kind: "refuse", why: "denied" }
  const linked = present.find((session) => session.id === request.sessionId)
  if (linked) {
    // OpenID Connect Core §3.1.2.1, id_token_hint: an error unless this user signs in.
    if (hintedUser !== undefined && linked.userId !== hintedUser) {
      return { kind: "refuse", why: "other person" }
    }
    return stepForSession(request, linked, policyOf(linked), now)
  }
  // Initiating User Registration via OpenID Connect §4: even if other users are signed in here.
  if (prompts.includes("create") && policies.mayRegister) return { kind: "register" }
  const expected = hintedUser ?? request.suggestedUser
  const fitting = present.filter(({ userId }) => expected === undefined || userId === expected)
  const welcome = fitting.filter((session) => policyOf(session).bar === undefined)
  const [only, ...others] = welcome.length > 0 ? welcome : fitting
  // Hinted users must enter their login name themselves, so that the client does not learn whether
  // the account exists.
  if (!only) return { kind: "login name" }
  // The application sets the hint, so it never replaces a choice of the user. A user who requested
  // a new account is not signed in silently.
  const isAsked = prompts.includes("select_account") || prompts.includes("create")
  if (isAsked || others.length > 0) return { kind: "choose" }
  return stepForSession(request, only, policyOf(only), now)
}

/** Throws if no policy was read, so that no user is admitted without one. */
function requirePolicy({ sessions }: Policies, sessionId: string): SessionPolicy {
  const policy = sessions.get(sessionId)
  if (!policy) throw new Error(`no policy was loaded for session ${sessionId}`)
  return policy
}

/** The next step once the user is determined. */
function stepForSession(
  request: SignInRequest,
  session: PresentSession,
  policy: SessionPolicy,
  now: number,
): Step {
  const { id: sessionId, userId } = session
  const missing = findMissing(session, requirementOf(request, policy), now)
  if (missing?.kind === "barred") return { ...missing, sessionId }
  if (missing?.kind === "not fresh")
    return { kind: "refuse", why: "not fresh", idpId: missing.idpId }
  if (missing) return { ...missing, userId }
  // Consent is requested last, from the user who signs in.
  const needsConsent = canNeedConsent(request) && policy.isConsentRemembered !== true
  const asks = request.prompts.includes("consent") || needsConsent
  return { kind: asks && request.consent !== sessionId ? "consent" : "done", sessionId }
}

/** Whether consent is required unless a remembered one covers the request. */
export const canNeedConsent = ({
  foreign = [],
  isUnvouched = false,
}: Pick<SignInRequest, "foreign" | "isUnvouched">): boolean => foreign.length > 0 || isUnvouched

/** The requirements for a user's session. */
const requirementOf = (request: SignInRequest, { bar, need }: SessionPolicy): Requirement => ({
  bar,
  need,
  since: request.created,
  // OpenID Connect Core §3.1.2.1.
  mustSignIn: request.prompts.includes("login"),
  maxAgeSeconds: request.maxAge,
  needsPassword: request.needsPassword,
})

/** The verified factors of a session, with times in ms UTC. */
export type SessionFacts = Pick<Session, "authTime" | "checks" | "userVerified" | "vouched">

/** The requirements for a session. */
export type Requirement = Omit<FreshnessRequirement, "since"> & {
  /** Why access rules reject the user; absent if they don't. */
  readonly bar?: AccessBarrier | undefined
  /** The factors that the policy requires; absent if there are none. */
  readonly need?: FactorRequirement | undefined
  /** Whether users who have a password must enter it. */
  readonly needsPassword?: boolean | undefined
  /** When the request began, ms UTC: factors verified since then were verified for it. */
  readonly since: number
}

/** What a session lacks. */
export type MissingFactor =
  | { readonly kind: "barred"; readonly bar: AccessBarrier }
  /** A first factor; `isLocal`: not from a provider, which did not sign in the user again. */
  | { readonly kind: "password"; readonly isLocal?: true }
  | { readonly kind: "factor"; readonly factors: readonly Factor[] }
  | { readonly kind: "set up"; readonly factors: readonly Factor[]; readonly isForced: boolean }
  /** A fresh sign-in, but all credentials of the user depend on the provider. */
  | { readonly kind: "not fresh"; readonly idpId: string }

/**
 * The only rule that decides whether a session is sufficient: for access rules, freshness and
 * factors. Undefined if nothing is missing.
 */
export function findMissing(
  session: SessionFacts,
  requirement: Requirement,
  now: number,
): MissingFactor | undefined {
  const { bar, need, since } = requirement
  if (bar !== undefined) return { kind: "barred", bar }
  if (need && isProviderRejected(need, session)) return { kind: "password" }
  if (!isFreshSignIn(signInEvidenceOf(session), requirement, now)) {
    return isProviderResponseSince(session, since)
      ? findLocalFactor(session, need)
      : { kind: "password" }
  }
  if (!isFirstFactorReusable(session, requirement, now)) return { kind: "password" }
  const mayType = need?.hasPassword === true && !need.passkeyAlone
  if (requirement.needsPassword && mayType && session.checks.password === undefined) {
    return { kind: "password", isLocal: true }
  }
  const second = need && findMissingSecondFactor(session, { need, since, now })
  // New credentials can only be set up by a user who has just authenticated.
  const wasHereLately = now - lastCheckOf(session) < freshSignInSeconds * 1000
  const canHaveLeft = lastCheckOf(session) <= since && !wasHereLately
  return second?.kind === "set up" && canHaveLeft ? { kind: "password" } : second
}

/** Whether a provider has responded for this request, and no other sign-in followed. */
const isProviderResponseSince = (session: SessionFacts, since: number): boolean =>
  isProviderSignIn(session) && (session.checks.intent ?? 0) > since

/** What can prove here what the provider did not, so that the user is not sent there again. */
function findLocalFactor(
  { vouched }: SessionFacts,
  need: FactorRequirement | undefined,
): MissingFactor {
  const { factors = [], hasPassword = false, passkeyAlone } = need ?? {}
  if (hasPassword && !passkeyAlone) return { kind: "password", isLocal: true }
  const own: readonly Factor[] = passkeyAlone?.isThere ? ["passkey"] : factors
  if (own.length > 0) return { kind: "factor", factors: own }
  return { kind: "not fresh", idpId: vouched?.idpId ?? "" }
}

/** When a first factor was last verified here, or a provider last responded. */
const lastCheckOf = ({ authTime, checks: { intent = 0 } }: SessionFacts): number =>
  Math.max(authTime, intent)

/** Whether the policy accepts a first factor that was not verified for this request. */
function isFirstFactorReusable(
  session: SessionFacts,
  { need, since }: Requirement,
  now: number,
): boolean {
  const { firstLifetime = Infinity, externalLifetime = Infinity } = need ?? {}
  const lifetime = isProviderSignIn(session) ? externalLifetime : firstLifetime
  const lastCheck = lastCheckOf(session)
  return lastCheck > since || now - lastCheck <= lifetime * 1000
}

type FactorContext = {
  readonly need: FactorRequirement
  readonly since: number
  readonly now: number
}

/** The second factor that must be proved or set up. */
function findMissingSecondFactor(
  session: SessionFacts,
  { need, since, now }: FactorContext,
): MissingFactor | undefined {
  const isEnough = areFactorsProved(need, session, { since, now })
  const { isDue } = need
  const factors = factorsBeside(session, need.factors)
  const offered = factorsBeside(session, need.offered)
  if (!isEnough && factors.length > 0) return { kind: "factor", factors }
  // Their factors prove nothing more after a link, so they must use their password.
  if (!isEnough && need.factors.length > 0 && need.hasPassword) return { kind: "password" }
  const passkey = findMissingPasskey(need, session)
  if (passkey || isEnough) return passkey
  const isForced = isForcedFor(need, session)
  const isRequired = isForced || need.isForcedManager
  // Emailed codes, the only factor that they could set up, prove nothing more after a link.
  const isMailAlone = need.offered.length > 0 && offered.length === 0
  if (isRequired && isMailAlone && need.hasPassword) return { kind: "password" }
  if (isForced || (isRequired && offered.length > 0)) {
    return { kind: "set up", factors: offered, isForced: true }
  }
  // Interrupts only users who have just entered credentials.
  const isOffered = isDue && offered.length > 0 && lastCheckOf(session) > since
  return isOffered ? { kind: "set up", factors: offered, isForced: false } : undefined
}

/** Whether the policy requires a second factor for sign-ins of this kind. */
const isForcedFor = (
  { isForced, isLocalOnly }: FactorRequirement,
  session: SessionFacts,
): boolean => isForced && !(isLocalOnly && isProviderSignIn(session))

/** Whether the user came from a provider that their organization no longer accepts. */
const isProviderRejected = (
  { isProviderClosed }: FactorRequirement,
  session: SessionFacts,
): boolean => isProviderSignIn(session) && isProviderClosed === true

/** Factors that prove more than the sign-in itself: one mailbox is one factor. */
function factorsBeside(session: SessionFacts, factors: readonly Factor[]): readonly Factor[] {
  if (signInKindOf(session) !== "link") return factors
  const others = factors.filter((factor) => factor !== "otp_email")
  return others.some((factor) => factor !== "recovery_codes") ? others : []
}

/** Whether the last sign-in was with a provider and not a password. */
const isProviderSignIn = (session: SessionFacts): boolean => signInKindOf(session) === "provider"

/**
 * If the policy requires passkeys, users without one can use their password only to register a
 * passkey, after all other requirements are met.
 */
function findMissingPasskey(
  { passkeyAlone }: FactorRequirement,
  session: SessionFacts,
): MissingFactor | undefined {
  const { userVerified, checks } = session
  if (!passkeyAlone || isProviderSignIn(session)) return undefined
  if (userVerified && checks.webAuthN !== undefined) return undefined
  const { isThere, canBeMade, orLink } = passkeyAlone
  if (orLink && signInKindOf(session) === "link") return undefined
  if (isThere) return { kind: "factor", factors: ["passkey"] }
  return { kind: "set up", factors: canBeMade ? ["passkey"] : [], isForced: true }
}

/**
 * Whether a session meets the requirements, verified for this request or recently enough; ms UTC.
 */
export function areFactorsProved(
  need: FactorRequirement,
  { checks, userVerified }: Pick<Session, "checks" | "userVerified">,
  { since, now }: { readonly since: number; readonly now: number },
): boolean {
  const { user: _, password: __, intent: ___, magicLink: ____, webAuthN, ...others } = checks
  const { otpEmail, ...unmailed } = others
  // After a sign-in by email, an emailed code proves nothing more.
  const codes = signInKindOf({ checks }) === "link" ? unmailed : others
  const isCheckValid = (time: number | undefined, lifetime: number) =>
    time !== undefined && (time > since || now - time <= lifetime * 1000)
  // A key that verified the user proves two factors.
  if (userVerified && isCheckValid(webAuthN, need.multiLifetime)) return true
  return [webAuthN, ...Object.values(codes)].some((time) => isCheckValid(time, need.secondLifetime))
}

/** How the user last signed in: with a provider, an emailed link, or their own credentials. */
export function signInKindOf({ checks }: Pick<Session, "checks">): "provider" | "link" | "own" {
  const { intent = 0, magicLink = 0, password = 0 } = checks
  const last = Math.max(intent, magicLink, password)
  if (last === 0 || last === password) return "own"
  return last === intent ? "provider" : "link"
}
