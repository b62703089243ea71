import { type Cx, remembered } from "../../store/index.ts"
import { partyUntil } from "./anchor.ts"
import type { Statement } from "./statement.ts"

/**
 * Whether everything that a token hangs from still stands: what it was granted by, the user, and
 * their organisation. Asked at every use of every token.
 */
export function stands(cx: Cx, said: Pick<Statement, "grantId" | "userId">): boolean {
  const known = answers(cx)
  // A user id may have a slash in it, but no space.
  const key = `${said.grantId} ${said.userId}`
  const until = known.get(key) ?? partyUntil(cx, { userId: said.userId, anchor: said.grantId })
  if (known.size < answersMax) known.set(key, until)
  return cx.clock.now() < until
}

/** Answers are good until anything is written; a session may end earlier, by time alone. */
const answers = remembered(() => new Map<string, number>())
const answersMax = 10_000
