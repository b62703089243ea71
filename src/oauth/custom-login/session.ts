import { isTokenOf } from "../../domain/session/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { findPresentSession, type PresentSession } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"

/** A session as a custom login page identifies it. */
export type SessionReference = { readonly sessionId: string; readonly sessionToken: string }

/**
 * The user of a session of a custom login page. Rejects any token except the latest one of the
 * session, and a session that is unauthenticated or has ended.
 */
export function requirePresentSession(
  cx: Cx,
  { sessionId, sessionToken }: SessionReference,
): PresentSession {
  if (!isTokenOf(cx, sessionId, sessionToken)) {
    throw new Fault(
      "invalid_argument",
      "session.token_wrong",
      "session not found, or the token is not its latest one",
    )
  }
  const present = findPresentSession(cx, sessionId)
  if (present) return present
  throw new Fault(
    "failed_precondition",
    "session.unproven",
    "the session is unauthenticated or has ended; check the password or a passkey",
  )
}
