import { type Cx, cached } from "../../store/index.ts"
import type { Statement } from "./statement.ts"
import { partyUntil } from "./token-parent.ts"

/**
 * Whether everything that a token hangs from is still active: what it was granted by, the user, and
 * their organisation. Asked at every use of every token.
 */
export function isActive(cx: Cx, claims: Pick<Statement, "grantId" | "userId">): boolean {
  const known = answers(cx)
  // A user id may have a slash in it, but no space.
  const key = `${claims.grantId} ${claims.userId}`
  const until = known.get(key) ?? partyUntil(cx, { userId: claims.userId, anchor: claims.grantId })
  if (known.size < answersMax) known.set(key, until)
  return cx.clock.now() < until
}

/** Answers are good until anything is written; a session may end earlier, by time alone. */
const answers = cached(() => new Map<string, number>())
const answersMax = 10_000
