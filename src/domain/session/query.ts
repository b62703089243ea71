import type { Cx, Decision } from "../../store/index.ts"
import { signInVersion, type User, user } from "../user/index.ts"
import { type Session, session } from "./model.ts"

/** Whether a session is still good at `now`, and that of `userId` where one is given. */
export const isLive = (state: Session, now: number, userId = state.userId): boolean =>
  state.status === "active" && now < state.expires && state.userId === userId

/** What a query and a decision have in common. */
type Reader = Pick<Decision, "state" | "now">

/**
 * A session that can be used: it lives, its person may sign in, and their password is still the
 * one that was checked.
 */
export function usableSession(read: Reader, sessionId: string): Session | undefined {
  const state = read.state(session, sessionId)
  if (!isLive(state, read.now)) return undefined
  const version = passwordVersionOf(read.state(user, state.userId))
  return version === state.passwordVersion ? state : undefined
}

/** The same outside of a step, as things stand now. */
export const sessionNow = (cx: Cx, sessionId: string): Session | undefined =>
  usableSession(
    { now: cx.clock.now(), state: (kind, id) => cx.store.state(cx, kind, id) },
    sessionId,
  )

/** What an active person signs in under, by their password; undefined for everybody else. */
export function passwordVersionOf(state: User): number | undefined {
  if (state.status !== "active" || state.kind !== "human") return undefined
  return signInVersion(state)
}
