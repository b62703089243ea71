import type { Requested } from "../domain/grant/index.ts"
import type { Session } from "../domain/session/index.ts"
import { freshSeconds } from "../kernel/context.ts"
import { cameBy, type Factor, isProved, type Need } from "./factor/need.ts"

/** What the flow must know of a request to sign somebody in. */
export type Wanted = Pick<Requested, "prompts" | "maxAge" | "hintedUser" | "foreign"> & {
  /** The user that a login_hint names; empty where the name is nobody's. */
  readonly suggestedUser?: string | undefined
  /** The session that was chosen or made for this request; empty before. */
  readonly sessionId: string
  /** The session whose person has allowed the application what it asks for. */
  readonly consent?: string | undefined
  /** Whether nobody vouches for the application: people are asked each time. */
  readonly isUnvouched?: boolean
  /** Whether whoever has no account may make one. */
  readonly mayRegister?: boolean
  /** Whether the person has refused. */
  readonly isDenied?: boolean
  /** Why a person may not use the application; undefined for who may. */
  readonly barOf?: (userId: string) => Bar | undefined
  /** What a person has to prove beside a password; undefined for nothing. */
  readonly needOf?: (userId: string) => Need
  /** ms UTC. */
  readonly created: number
}

/**
 * The request is for users of another organisation; the project wants people to have roles on it,
 * or their organisation to have the project.
 */
export type Bar = "organisation" | "roles" | "project"

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
  | { readonly kind: "password"; readonly userId: string }
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

/** The one rule that decides what a browser's sessions are good for, at every entrance. */
export function nextStep(wanted: Wanted, present: readonly Present[], now: number): Step {
  const { hintedUser, prompts, barOf } = wanted
  if (wanted.isDenied) return { kind: "refuse", why: "denied" }
  const linked = present.find((session) => session.id === wanted.sessionId)
  if (linked) {
    // OpenID Connect Core §3.1.2.1, id_token_hint: an error unless it is that person.
    if (hintedUser !== undefined && linked.userId !== hintedUser) {
      return { kind: "refuse", why: "other person" }
    }
    return stepWith(wanted, linked, now)
  }
  // Initiating User Registration via OpenID Connect §4: whoever else is signed in here.
  if (prompts.includes("create") && wanted.mayRegister) return { kind: "register" }
  const expected = hintedUser ?? wanted.suggestedUser
  const fitting = present.filter(({ userId }) => expected === undefined || userId === expected)
  const welcome = fitting.filter(({ userId }) => barOf?.(userId) === undefined)
  const [only, ...others] = welcome.length > 0 ? welcome : fitting
  // Whoever a hint names has to come by themself: their name is no secret to share with a client.
  if (!only) return { kind: "login name" }
  // It's the application that hints, so a hint never answers what the person is asked.
  if (prompts.includes("select_account") || others.length > 0) return { kind: "choose" }
  return stepWith(wanted, only, now)
}

/** What is still to be done once it is clear who it will be. */
function stepWith(wanted: Wanted, session: Present, now: number): Step {
  const { id: sessionId, userId } = session
  const bar = wanted.barOf?.(userId)
  if (bar !== undefined) return { kind: "barred", sessionId, bar }
  if (!isRecent(wanted, session, now)) return { kind: "password", userId }
  const second = secondStep(wanted, session, now)
  // What lets somebody in from then on is set up by who has just shown who they are.
  if (second?.kind === "set up" && !isFresh(wanted, session, now))
    return { kind: "password", userId }
  if (second) return second
  // Consent is given last, and by exactly who will be signed in.
  const { prompts, foreign = [], isUnvouched = false } = wanted
  const asks = prompts.includes("consent") || foreign.length > 0 || isUnvouched
  return { kind: asks && wanted.consent !== sessionId ? "consent" : "done", sessionId }
}

/** Whether who signed in still sits there; ahead of this request only for a quarter of an hour. */
const isFresh = ({ created }: Wanted, { authTime }: Present, now: number): boolean =>
  authTime > created || now - authTime < freshSeconds * 1000

/** What has to be proved beside a password, or set up for that. */
function secondStep(wanted: Wanted, session: Present, now: number): Step | undefined {
  const { userId } = session
  const need = wanted.needOf?.(userId)
  if (!need) return undefined
  const isEnough = isProved(need, session, { since: wanted.created, now })
  const { isDue } = need
  const factors = beside(session, need.factors)
  const offered = beside(session, need.offered)
  if (!isEnough && factors.length > 0) return { kind: "factor", userId, factors }
  // What they have proves nothing beside a link: the other way in is what is left.
  if (!isEnough && need.factors.length > 0 && need.hasPassword) return { kind: "password", userId }
  const passkey = passkeyStep(need, session)
  if (passkey || isEnough) return passkey
  const isForced = isForcedFor(need, session)
  if (isForced) return { kind: "set up", userId, factors: offered, isForced }
  // Only who has just typed something is stopped on their way.
  const isOffered = isDue && offered.length > 0 && session.authTime > wanted.created
  return isOffered ? { kind: "set up", userId, factors: offered, isForced } : undefined
}

/** Whether somebody who has no factor must set one up. */
const isForcedFor = ({ isForced, isLocalOnly }: Need, session: Present): boolean =>
  isForced && !(isLocalOnly && cameByProvider(session))

/** Whether they came by a provider that lets nobody of their organisation in any more. */
const isShutOut = ({ isLetInBy }: Need, session: Present): boolean =>
  cameByProvider(session) && isLetInBy?.(session.vouched?.idpId ?? "") === false

/** Whether a session has all that lets its person in now, for whatever that is. */
export function isWhole(need: Need, session: Present, now: number): boolean {
  const isEnough = isProved(need, session, { since: now, now })
  if (!isEnough && (need.factors.length > 0 || isForcedFor(need, session))) return false
  return !isShutOut(need, session) && passkeyStep(need, session) === undefined
}

/** What proves something beside what somebody came in by: one mailbox read twice is one factor. */
function beside(session: Present, factors: readonly Factor[]): readonly Factor[] {
  if (cameBy(session) !== "link") return factors
  const others = factors.filter((factor) => factor !== "otp_email")
  return others.some((factor) => factor !== "recovery_codes") ? others : []
}

/** Whether a provider vouched for them last, and no password. */
const cameByProvider = (session: Present): boolean => cameBy(session) === "provider"

/**
 * Where passwords alone let nobody in, they are only good to set up a passkey with, by who has none
 * yet; whatever else that person has to prove comes before.
 */
function passkeyStep({ passkeyAlone }: Need, session: Present): Step | undefined {
  const { userId, userVerified, checks } = session
  if (!passkeyAlone || cameByProvider(session)) return undefined
  if (userVerified && checks.webAuthN !== undefined) return undefined
  const { isThere, canBeMade, orLink } = passkeyAlone
  if (orLink && cameBy(session) === "link") return undefined
  if (isThere) return { kind: "factor", userId, factors: ["passkey"] }
  return { kind: "set up", userId, factors: canBeMade ? ["passkey"] : [], isForced: true }
}

/**
 * OpenID Connect Core §3.1.2.1: prompt=login and max_age ask for a sign-in that is recent; so does
 * the policy, of whoever asks.
 */
function isRecent(wanted: Wanted, session: Present, now: number): boolean {
  const { userId, authTime } = session
  const { prompts, maxAge = Infinity, created, needOf } = wanted
  const need = needOf?.(userId)
  if (need && isShutOut(need, session)) return false
  if (authTime > created) return true
  if (prompts.includes("login")) return false
  const { firstLifetime = Infinity, externalLifetime = Infinity } = need ?? {}
  const lifetime = cameByProvider(session) ? externalLifetime : firstLifetime
  return now - authTime <= Math.min(maxAge, lifetime) * 1000
}
