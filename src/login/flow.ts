import type { Factor } from "../domain/factor/index.ts"
import type { Requested } from "../domain/grant/index.ts"
import type { Session } from "../domain/session/index.ts"
import type { Need } from "./factor/need.ts"
import { type Bar, missingFrom, type Requirement } from "./factor/sufficiency.ts"

/** What the flow must know of a request to sign somebody in. */
export type Wanted = Pick<Requested, "prompts" | "maxAge" | "hintedUser" | "foreign"> & {
  /** The user that a login_hint names; empty where the name is nobody's. */
  readonly suggestedUser?: string | undefined
  /** The session that was chosen or made for this request; empty before. */
  readonly sessionId: string
  /** The session whose person has allowed the application what it asks for. */
  readonly consent?: string | undefined
  /** Whether nobody vouches for the application: users are asked first. */
  readonly isUnvouched?: boolean
  /** Whether a user has allowed all this before, and it is remembered; absent for nobody. */
  readonly isRememberedOf?: (userId: string) => boolean
  /** Whether whoever has no account may make one. */
  readonly mayRegister?: boolean
  /** Whether a password is required of who has one, whatever else they signed in with. */
  readonly needsPassword?: boolean | undefined
  /** Whether the person has refused. */
  readonly isDenied?: boolean
  /** Why a person may not use the application; undefined for who may. */
  readonly barOf?: (userId: string) => Bar | undefined
  /** What a person has to prove beside a password; undefined for nothing. */
  readonly needOf?: (userId: string) => Need
  /** ms UTC. */
  readonly created: number
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
  // It's the application that hints, so a hint never answers what the person is asked. Nobody is
  // signed in without a word who came for a new account.
  const isAsked = prompts.includes("select_account") || prompts.includes("create")
  if (isAsked || others.length > 0) return { kind: "choose" }
  return stepWith(wanted, only, now)
}

/** What is still to be done once it is clear who it will be. */
function stepWith(wanted: Wanted, session: Present, now: number): Step {
  const { id: sessionId, userId } = session
  const missing = missingFrom(session, requirementOf(wanted, userId), now)
  if (missing?.kind === "barred") return { ...missing, sessionId }
  if (missing?.kind === "not fresh")
    return { kind: "refuse", why: "not fresh", idpId: missing.idpId }
  if (missing) return { ...missing, userId }
  // Consent is given last, and by exactly who will be signed in.
  const { prompts, foreign = [], isUnvouched = false, isRememberedOf } = wanted
  const needsConsent = (foreign.length > 0 || isUnvouched) && !isRememberedOf?.(userId)
  const asks = prompts.includes("consent") || needsConsent
  return { kind: asks && wanted.consent !== sessionId ? "consent" : "done", sessionId }
}

/** What a request requires of the session of a person. */
const requirementOf = (wanted: Wanted, userId: string): Requirement => ({
  bar: wanted.barOf?.(userId),
  need: wanted.needOf?.(userId),
  since: wanted.created,
  // OpenID Connect Core §3.1.2.1.
  mustSignIn: wanted.prompts.includes("login"),
  maxAgeSeconds: wanted.maxAge,
  needsPassword: wanted.needsPassword,
})
