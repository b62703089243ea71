import type { Factor } from "../domain/factor/index.ts"
import type { Requested } from "../domain/grant/index.ts"
import { evidenceOf, type Session } from "../domain/session/index.ts"
import { type FreshnessRequirement, freshSeconds, isFreshSignIn } from "../protocol/freshness.ts"

// What must happen next for somebody to be signed in: one pure function. All that it goes by is
// data, which others read before they ask.

/** What a request to sign somebody in requires. */
export type AuthorizationRequest = Pick<
  Requested,
  "prompts" | "maxAge" | "hintedUser" | "foreign"
> & {
  /** The user that a login_hint names; empty where the name is nobody's. */
  readonly suggestedUser?: string | undefined
  /** The session that was chosen or made for this request; empty before. */
  readonly sessionId: string
  /** The session whose person has allowed the application what it asks for. */
  readonly consent?: string | undefined
  /** Whether nobody vouches for the application: users are asked first. */
  readonly isUnvouched?: boolean
  /** Whether a password is required of who has one, whatever else they signed in with. */
  readonly needsPassword?: boolean | undefined
  /** Whether the person has refused. */
  readonly isDenied?: boolean
  /** ms UTC. */
  readonly created: number
}

/** What applies to a request, and to the person of each session. */
export type Policies = {
  /** Whether whoever has no account may make one. */
  readonly mayRegister: boolean
  /** By the id of the session. */
  readonly sessions: ReadonlyMap<string, SessionPolicy>
}

/** What applies to the person of one session. */
export type SessionPolicy = {
  /** Why they may not use the application; absent for who may. */
  readonly bar?: Bar | undefined
  /** What they have to prove beside a password; absent for nothing. */
  readonly need?: Need | undefined
  /** Whether they have allowed all that before, and it is remembered. */
  readonly isConsentRemembered?: boolean
}

/**
 * The request is for users of another organisation; the project wants people to have roles on it,
 * or their organisation to have the project; the application is for users and groups that are
 * assigned to it, or for users with a role of the project, or in other networks.
 */
export type Bar = "organisation" | "roles" | "project" | "assigned" | "role" | "network"

/** What a person has to prove; lifetimes are seconds. */
export type Need = {
  /** What they have set up and may use, the best first. */
  readonly factors: readonly Factor[]
  /** What they could set up. */
  readonly offered: readonly Factor[]
  /** Whether the policy requires a factor of all users. */
  readonly isForced: boolean
  /** Whether that excludes users who came by an identity provider: that has its own factors. */
  readonly isLocalOnly: boolean
  /**
   * Whether the policy requires a factor of this user as a manager, however they sign in. Managers
   * for whom no factor can be set up are let in: they are the ones who could change that.
   */
  readonly isForcedManager?: boolean
  /** Whether it is time to offer it again. */
  readonly isDue: boolean
  readonly secondLifetime: number
  readonly multiLifetime: number
  /** Where passwords alone let nobody in: whether a person has a passkey; absent elsewhere. */
  readonly passkeyAlone?:
    | {
        readonly isThere: boolean
        readonly canBeMade: boolean
        /** Whether a link by mail does as well. */
        readonly orLink: boolean
      }
    | undefined
  /** Whether they have a password, too, where they come by a link. */
  readonly hasPassword: boolean
  /** How long a first factor counts that was not proved for this request. */
  readonly firstLifetime: number
  /** The same of who came by an identity provider. */
  readonly externalLifetime: number
  /** Whether their organization lets nobody in by the provider that vouched for them. */
  readonly isProviderClosed?: boolean
}

/** A person who is signed in to this browser. */
export type Present = {
  readonly id: string
  readonly userId: string
  /** ms UTC. */
  readonly authTime: number
} & Pick<Session, "checks" | "userVerified" | "vouched">

/** What must happen next. `refuse`: the request ends without a sign-in. */
export type Step =
  | { readonly kind: "done"; readonly sessionId: string }
  | { readonly kind: "choose" }
  | { readonly kind: "login name" }
  | { readonly kind: "register" }
  /** `isLocal`: a provider does not help, see `Missing`. */
  | { readonly kind: "password"; readonly userId: string; readonly isLocal?: true }
  | { readonly kind: "factor"; readonly userId: string; readonly factors: readonly Factor[] }
  | {
      readonly kind: "set up"
      readonly userId: string
      readonly factors: readonly Factor[]
      readonly isForced: boolean
    }
  | { readonly kind: "consent"; readonly sessionId: string }
  | { readonly kind: "barred"; readonly sessionId: string; readonly bar: Bar }
  | { readonly kind: "refuse"; readonly why: "other person" | "denied" }
  /** `idpId`: the provider that has not signed the user in again. */
  | { readonly kind: "refuse"; readonly why: "not fresh"; readonly idpId: string }

/** Decides what must happen next for a request, by the sessions of a browser. */
export function nextStep(
  request: AuthorizationRequest,
  present: readonly Present[],
  policies: Policies,
  now: number,
): Step {
  const { hintedUser, prompts } = request
  const policyOf = ({ id }: Present): SessionPolicy => requirePolicy(policies, id)
  if (request.isDenied) return { kind: "refuse", why: "denied" }
  const linked = present.find((session) => session.id === request.sessionId)
  if (linked) {
    // OpenID Connect Core §3.1.2.1, id_token_hint: an error unless it is that person.
    if (hintedUser !== undefined && linked.userId !== hintedUser) {
      return { kind: "refuse", why: "other person" }
    }
    return stepWith(request, linked, policyOf(linked), now)
  }
  // Initiating User Registration via OpenID Connect §4: whoever else is signed in here.
  if (prompts.includes("create") && policies.mayRegister) return { kind: "register" }
  const expected = hintedUser ?? request.suggestedUser
  const fitting = present.filter(({ userId }) => expected === undefined || userId === expected)
  const welcome = fitting.filter((session) => policyOf(session).bar === undefined)
  const [only, ...others] = welcome.length > 0 ? welcome : fitting
  // Whoever a hint names has to come by themself: their name is no secret to share with a client.
  if (!only) return { kind: "login name" }
  // It's the application that hints, so a hint never answers what the person is asked. Nobody is
  // signed in without a word who came for a new account.
  const isAsked = prompts.includes("select_account") || prompts.includes("create")
  if (isAsked || others.length > 0) return { kind: "choose" }
  return stepWith(request, only, policyOf(only), now)
}

/** Nobody is let in because somebody forgot to read what applies to them. */
function requirePolicy({ sessions }: Policies, sessionId: string): SessionPolicy {
  const policy = sessions.get(sessionId)
  if (!policy) throw new Error(`no policy was read for session ${sessionId}`)
  return policy
}

/** What is still to be done once it is clear who it will be. */
function stepWith(
  request: AuthorizationRequest,
  session: Present,
  policy: SessionPolicy,
  now: number,
): Step {
  const { id: sessionId, userId } = session
  const missing = missingFrom(session, requirementOf(request, policy), now)
  if (missing?.kind === "barred") return { ...missing, sessionId }
  if (missing?.kind === "not fresh")
    return { kind: "refuse", why: "not fresh", idpId: missing.idpId }
  if (missing) return { ...missing, userId }
  // Consent is given last, and by exactly who will be signed in.
  const needsConsent = mayNeedConsent(request) && policy.isConsentRemembered !== true
  const asks = request.prompts.includes("consent") || needsConsent
  return { kind: asks && request.consent !== sessionId ? "consent" : "done", sessionId }
}

/** Whether a person has to be asked unless what they allowed before is remembered. */
export const mayNeedConsent = ({
  foreign = [],
  isUnvouched = false,
}: Pick<AuthorizationRequest, "foreign" | "isUnvouched">): boolean =>
  foreign.length > 0 || isUnvouched

/** What a request requires of the session of a person. */
const requirementOf = (
  request: AuthorizationRequest,
  { bar, need }: SessionPolicy,
): Requirement => ({
  bar,
  need,
  since: request.created,
  // OpenID Connect Core §3.1.2.1.
  mustSignIn: request.prompts.includes("login"),
  maxAgeSeconds: request.maxAge,
  needsPassword: request.needsPassword,
})

/** What a session has proved, and when; times in ms UTC. */
export type SessionFacts = Pick<Session, "authTime" | "checks" | "userVerified" | "vouched">

/** What a session has to be for what its person is about to do. */
export type Requirement = Omit<FreshnessRequirement, "since"> & {
  /** Why the access rules keep the person out; absent for who may come in. */
  readonly bar?: Bar | undefined
  /** The factors that the policy requires; absent for none. */
  readonly need?: Need | undefined
  /** Whether a password is required of who has one. */
  readonly needsPassword?: boolean | undefined
  /** When the request began, ms UTC: what was proved since then is proved for it. */
  readonly since: number
}

/** What is missing. */
export type Missing =
  | { readonly kind: "barred"; readonly bar: Bar }
  /** A first factor; `isLocal`: not a provider, which has not signed the user in again. */
  | { readonly kind: "password"; readonly isLocal?: true }
  | { readonly kind: "factor"; readonly factors: readonly Factor[] }
  | { readonly kind: "set up"; readonly factors: readonly Factor[]; readonly isForced: boolean }
  /** A fresh sign-in, for which the user has nothing here that the provider does not replace. */
  | { readonly kind: "not fresh"; readonly idpId: string }

/**
 * The one rule on whether a session is enough: for access rules, for how fresh the sign-in has to
 * be, and for factors. Undefined where nothing is missing.
 */
export function missingFrom(
  session: SessionFacts,
  requirement: Requirement,
  now: number,
): Missing | undefined {
  const { bar, need, since } = requirement
  if (bar !== undefined) return { kind: "barred", bar }
  if (need && isShutOut(need, session)) return { kind: "password" }
  if (!isFreshSignIn(evidenceOf(session), requirement, now)) {
    return isAnsweredSince(session, since) ? localFactor(session, need) : { kind: "password" }
  }
  if (!isReusable(session, requirement, now)) return { kind: "password" }
  const mayType = need?.hasPassword === true && !need.passkeyAlone
  if (requirement.needsPassword && mayType && session.checks.password === undefined) {
    return { kind: "password", isLocal: true }
  }
  const second = need && secondFactor(session, { need, since, now })
  // What lets somebody in from then on is set up by who has just shown who they are.
  const wasHereLately = now - checkedAt(session) < freshSeconds * 1000
  const mayHaveLeft = checkedAt(session) <= since && !wasHereLately
  return second?.kind === "set up" && mayHaveLeft ? { kind: "password" } : second
}

/** Whether a provider has answered for this very request; whoever it signed in came by it last. */
const isAnsweredSince = (session: SessionFacts, since: number): boolean =>
  cameByProvider(session) && (session.checks.intent ?? 0) > since

/** What proves here what the answer of a provider has not, so that nobody is sent there again. */
function localFactor({ vouched }: SessionFacts, need: Need | undefined): Missing {
  const { factors = [], hasPassword = false, passkeyAlone } = need ?? {}
  if (hasPassword && !passkeyAlone) return { kind: "password", isLocal: true }
  const own: readonly Factor[] = passkeyAlone?.isThere ? ["passkey"] : factors
  if (own.length > 0) return { kind: "factor", factors: own }
  return { kind: "not fresh", idpId: vouched?.idpId ?? "" }
}

/** When a first factor was last checked here, or a provider last answered. */
const checkedAt = ({ authTime, checks: { intent = 0 } }: SessionFacts): number =>
  Math.max(authTime, intent)

/** Whether the policy lets a first factor be used again that was not checked for this request. */
function isReusable(session: SessionFacts, { need, since }: Requirement, now: number): boolean {
  const { firstLifetime = Infinity, externalLifetime = Infinity } = need ?? {}
  const lifetime = cameByProvider(session) ? externalLifetime : firstLifetime
  const at = checkedAt(session)
  return at > since || now - at <= lifetime * 1000
}

type Judging = { readonly need: Need; readonly since: number; readonly now: number }

/** What has to be proved beside a password, or set up for that. */
function secondFactor(session: SessionFacts, { need, since, now }: Judging): Missing | undefined {
  const isEnough = isProved(need, session, { since, now })
  const { isDue } = need
  const factors = beside(session, need.factors)
  const offered = beside(session, need.offered)
  if (!isEnough && factors.length > 0) return { kind: "factor", factors }
  // What they have proves nothing beside a link: the other way in is what is left.
  if (!isEnough && need.factors.length > 0 && need.hasPassword) return { kind: "password" }
  const passkey = passkeyMissing(need, session)
  if (passkey || isEnough) return passkey
  const isForced = isForcedFor(need, session)
  const isRequired = isForced || need.isForcedManager
  // Codes by email, all that they could set up, prove nothing beside a link.
  const isMailAlone = need.offered.length > 0 && offered.length === 0
  if (isRequired && isMailAlone && need.hasPassword) return { kind: "password" }
  if (isForced || (isRequired && offered.length > 0)) {
    return { kind: "set up", factors: offered, isForced: true }
  }
  // Only who has just typed something is stopped on their way.
  const isOffered = isDue && offered.length > 0 && checkedAt(session) > since
  return isOffered ? { kind: "set up", factors: offered, isForced: false } : undefined
}

/** Whether the policy requires a factor of all users who came as this one did. */
const isForcedFor = ({ isForced, isLocalOnly }: Need, session: SessionFacts): boolean =>
  isForced && !(isLocalOnly && cameByProvider(session))

/** Whether they came by a provider that lets nobody of their organisation in any more. */
const isShutOut = ({ isProviderClosed }: Need, session: SessionFacts): boolean =>
  cameByProvider(session) && isProviderClosed === true

/** What proves something beside what somebody came in by: one mailbox read twice is one factor. */
function beside(session: SessionFacts, factors: readonly Factor[]): readonly Factor[] {
  if (cameBy(session) !== "link") return factors
  const others = factors.filter((factor) => factor !== "otp_email")
  return others.some((factor) => factor !== "recovery_codes") ? others : []
}

/** Whether a provider vouched for them last, and no password. */
const cameByProvider = (session: SessionFacts): boolean => cameBy(session) === "provider"

/**
 * Where passwords alone let nobody in, they are only good to set up a passkey with, by who has none
 * yet; whatever else that person has to prove comes before.
 */
function passkeyMissing({ passkeyAlone }: Need, session: SessionFacts): Missing | undefined {
  const { userVerified, checks } = session
  if (!passkeyAlone || cameByProvider(session)) return undefined
  if (userVerified && checks.webAuthN !== undefined) return undefined
  const { isThere, canBeMade, orLink } = passkeyAlone
  if (orLink && cameBy(session) === "link") return undefined
  if (isThere) return { kind: "factor", factors: ["passkey"] }
  return { kind: "set up", factors: canBeMade ? ["passkey"] : [], isForced: true }
}

/** Whether a session has what is needed, proved for this request or not too long ago; ms UTC. */
export function isProved(
  need: Need,
  { checks, userVerified }: Pick<Session, "checks" | "userVerified">,
  { since, now }: { readonly since: number; readonly now: number },
): boolean {
  const { user: _, password: __, intent: ___, magicLink: ____, webAuthN, ...others } = checks
  const { otpEmail, ...unmailed } = others
  // Who came in by a mail proves nothing more with another one.
  const codes = cameBy({ checks }) === "link" ? unmailed : others
  const counts = (time: number | undefined, lifetime: number) =>
    time !== undefined && (time > since || now - time <= lifetime * 1000)
  // A key that has seen who holds it is two factors at once, whatever else there is.
  if (userVerified && counts(webAuthN, need.multiLifetime)) return true
  return [webAuthN, ...Object.values(codes)].some((time) => counts(time, need.secondLifetime))
}

/**
 * What somebody came in by last: a provider that vouched for them, a link that was mailed to them,
 * or what they have themselves.
 */
export function cameBy({ checks }: Pick<Session, "checks">): "provider" | "link" | "own" {
  const { intent = 0, magicLink = 0, password = 0 } = checks
  const last = Math.max(intent, magicLink, password)
  if (last === 0 || last === password) return "own"
  return last === intent ? "provider" : "link"
}
