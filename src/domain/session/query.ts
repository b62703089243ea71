import type { Cx, Decision } from "../../store/index.ts"
import { vouchesFor } from "../idp/index.ts"
import { isStandIn } from "../lockout/index.ts"
import type { Reading } from "../policy/index.ts"
import { isSignInCurrent, signInVersion, userChain } from "../user-lookup/index.ts"
import { readerOf, user } from "../user-model/index.ts"
import { type Session, session } from "./model.ts"

/** Whether a session is still good at `now`, and that of `userId` where one is given. */
export const isLive = (state: Session, now: number, userId = state.userId): boolean =>
  state.status === "active" && now < state.expires && state.userId === userId

/** What a query and a decision have in common. */
type Reader = Pick<Decision, "state" | "owner" | "now">

/**
 * A session that can be used: it lives, its person has proved who they are and may sign in, their
 * password is still the one that counted then, and the provider that alone has said who they are
 * may still vouch for them.
 */
export const usableSession = (tx: Decision, sessionId: string): Session | undefined =>
  usableBy(tx, tx, sessionId)

function usableBy(read: Reader, ranks: Reading, sessionId: string): Session | undefined {
  const state = read.state(session, sessionId)
  if (!isLive(state, read.now) || state.authTime === 0) return undefined
  return isCurrent(read, sessionId, state) && isVouchedFor(ranks, state) ? state : undefined
}

/** Whether the user of a session is active, and nothing has ended what they signed in under. */
export const isCurrent = (
  read: Pick<Decision, "state" | "owner">,
  sessionId: string,
  { userId, passwordVersion }: Pick<Session, "userId" | "passwordVersion">,
): boolean =>
  read.state(user, userId).status === "active" &&
  isSignInCurrent(read, userId, { sessionId, passwordVersion })

/** A provider that a sign-in depends on; `idpOrg` is empty for one of the instance. */
export type Voucher = { readonly idpId: string; readonly idpOrg: string }

/**
 * The provider that alone has said who a person is; undefined where they have proved it here by a
 * first factor. What it said is worth nothing once the provider is removed.
 */
export function soleVoucherOf({ vouched, checks, userVerified }: Proof): Voucher | undefined {
  const isProvedHere = checks.password !== undefined || checks.magicLink !== undefined
  return isProvedHere || userVerified ? undefined : vouched
}

type Proof = Pick<Session, "checks" | "userVerified"> & { readonly vouched?: Voucher | undefined }

/** Whether a person has proved here who they are, or the provider that said so may say so still. */
export function isVouchedFor(read: Reading, state: Proof & Pick<Session, "userId">): boolean {
  const voucher = soleVoucherOf(state)
  return voucher === undefined || vouchesFor(read, state.userId, voucher)
}

/** The same outside of a step, as things stand now. */
export const sessionNow = (cx: Cx, sessionId: string): Session | undefined =>
  usableBy({ ...readerOf(cx), now: cx.clock.now() }, cx, sessionId)

/** What an active person signs in under, by their password; undefined for everybody else. */
export const passwordVersionOf = (
  read: Pick<Decision, "state" | "owner">,
  userId: string,
): number | undefined =>
  read.state(user, userId).status === "active" ? signInVersion(read, userId) : undefined

/**
 * What the access to a session hangs from: its person; undefined where it is gone, or they are. One
 * of which nobody knows whose it is belongs to the instance alone.
 */
export function sessionChain(cx: Cx, sessionId: string) {
  const { status, userId } = cx.store.state(cx, session, sessionId)
  if (status === "absent") return undefined
  return isAnybodys(userId) ? userChain(cx, userId) : ({ instance: true } as const)
}

/** Whether it is known whose a session is. */
export const isAnybodys = (userId: string): boolean => userId !== "" && !isStandIn(userId)
