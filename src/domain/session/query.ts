import type { Cx, DecisionContext } from "../../store/index.ts"
import { vouchesFor } from "../idp/index.ts"
import { isStandIn } from "../lockout/index.ts"
import type { RankReader } from "../policy/index.ts"
import { findUserChain, isSignInCurrent, signInVersion } from "../user-lookup/index.ts"
import { createReader, user } from "../user-model/index.ts"
import { type Session, session } from "./model.ts"

/** Whether a session is valid at `now`, and belongs to `userId` if one is passed. */
export const isSessionValid = (state: Session, now: number, userId = state.userId): boolean =>
  state.status === "active" && now < state.expires && state.userId === userId

/** What queries and decisions have in common. */
type Reader = Pick<DecisionContext, "state" | "owner" | "now">

/**
 * A session that can be used: it is valid, its user is authenticated and can sign in, the password
 * is unchanged since, and if only a provider authenticated the user, it can still vouch for them.
 * Undefined otherwise.
 */
export const findUsableSession = (tx: DecisionContext, sessionId: string): Session | undefined =>
  usableIn(tx, tx, sessionId)

function usableIn(read: Reader, ranks: RankReader, sessionId: string): Session | undefined {
  const state = read.state(session, sessionId)
  if (!isSessionValid(state, read.now) || state.authTime === 0) return undefined
  return isSignInStillValid(read, sessionId, state) && isVouchedFor(ranks, state)
    ? state
    : undefined
}

/**
 * Whether the user of a session is active, and their credentials are unchanged since the sign-in.
 */
export const isSignInStillValid = (
  read: Pick<DecisionContext, "state" | "owner">,
  sessionId: string,
  { userId, passwordVersion }: Pick<Session, "userId" | "passwordVersion">,
): boolean =>
  read.state(user, userId).status === "active" &&
  isSignInCurrent(read, userId, { sessionId, passwordVersion })

/**
 * An identity provider that a sign-in relies on; `idpOrg` is empty for providers of the instance.
 */
export type Voucher = { readonly idpId: string; readonly idpOrg: string }

/**
 * The only provider that authenticated the user; undefined if a first factor was verified here. The
 * sign-in becomes invalid when the provider is removed.
 */
export function soleVoucherOf({
  vouched,
  checks,
  userVerified,
}: SignInProofs): Voucher | undefined {
  const isProvedHere = checks.password !== undefined || checks.magicLink !== undefined
  return isProvedHere || userVerified ? undefined : vouched
}

type SignInProofs = Pick<Session, "checks" | "userVerified"> & {
  readonly vouched?: Voucher | undefined
}

/** Whether the user authenticated here, or the provider can still vouch for them. */
export function isVouchedFor(
  read: RankReader,
  state: SignInProofs & Pick<Session, "userId">,
): boolean {
  const voucher = soleVoucherOf(state)
  return voucher === undefined || vouchesFor(read, state.userId, voucher)
}

/** A usable session outside a transaction. */
export const findSession = (cx: Cx, sessionId: string): Session | undefined =>
  usableIn({ ...createReader(cx), now: cx.clock.now() }, cx, sessionId)

/** The sign-in version of an active user, raised with each password; undefined for other users. */
export const passwordVersionOf = (
  read: Pick<DecisionContext, "state" | "owner">,
  userId: string,
): number | undefined =>
  read.state(user, userId).status === "active" ? signInVersion(read, userId) : undefined

/**
 * The owner chain of a session, for access checks: that of its user; undefined if the session or
 * the user does not exist. Sessions of unknown users belong to the instance alone.
 */
export function sessionChain(cx: Cx, sessionId: string) {
  const { status, userId } = cx.store.state(cx, session, sessionId)
  if (status === "absent") return undefined
  return isKnownUser(userId) ? findUserChain(cx, userId) : ({ instance: true } as const)
}

/** Whether the user of a session is known. */
export const isKnownUser = (userId: string): boolean => userId !== "" && !isStandIn(userId)
