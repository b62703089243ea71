import type { Factor } from "../../domain/factor/index.ts"
import { evidenceOf, type Session } from "../../domain/session/index.ts"
import { type FreshnessRequirement, freshSeconds, isFreshSignIn } from "../../protocol/freshness.ts"
import { cameBy, isProved, type Need } from "./need.ts"

/**
 * The request is for users of another organisation; the project wants people to have roles on it,
 * or their organisation to have the project.
 */
export type Bar = "organisation" | "roles" | "project"

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
const isShutOut = ({ isLetInBy }: Need, session: SessionFacts): boolean =>
  cameByProvider(session) && isLetInBy?.(session.vouched?.idpId ?? "") === false

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
