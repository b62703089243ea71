import { isTokenOf } from "../../domain/session/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { type Present, presentBy } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"

/** A session as a login page names it. */
export type NamedSession = { readonly sessionId: string; readonly sessionToken: string }

/**
 * Who is signed in by a session that a login page holds. Refuses any token but the latest of the
 * session, and a session in which nobody has proved who they are, or that is over.
 */
export function provenBy(cx: Cx, { sessionId, sessionToken }: NamedSession): Present {
  if (!isTokenOf(cx, sessionId, sessionToken)) {
    throw new Fault(
      "invalid_argument",
      "session.token_wrong",
      "there is no such session, or this is not the latest of its tokens",
    )
  }
  const present = presentBy(cx, sessionId)
  if (present) return present
  throw new Fault(
    "failed_precondition",
    "session.unproven",
    "nobody is signed in by this session, or not any more; check the password or a passkey",
  )
}
