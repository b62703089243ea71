import { isOrgActive } from "../../domain/org/index.ts"
import { isUserActive, user } from "../../domain/user/index.ts"
import type { Cx } from "../../store/index.ts"
import { remembered } from "../remembered.ts"
import { anchorUntil } from "./anchor.ts"
import type { Statement } from "./statement.ts"

/**
 * Whether everything that a token hangs from still stands: what it was granted by, the user, and
 * their organisation. Asked at every use of every token.
 */
export function stands(cx: Cx, said: Pick<Statement, "grantId" | "userId">): boolean {
  const known = answers(cx)
  const key = `${said.grantId}/${said.userId}`
  const until = known.get(key) ?? standsUntil(cx, said)
  if (known.size < answersMax) known.set(key, until)
  return cx.clock.now() < until
}

/** Answers are good until anything is written; a session may end earlier, by time alone. */
const answers = remembered(() => new Map<string, number>())
const answersMax = 10_000

/** ms UTC; 0 where it stands no more. */
function standsUntil(cx: Cx, { grantId, userId }: Pick<Statement, "grantId" | "userId">): number {
  if (!isUserActive(cx, userId) || !isOrgActive(cx, orgOf(cx, userId))) return 0
  return anchorUntil(cx, userId, grantId)
}

/** The organisation that a user belongs to. */
export const orgOf = (cx: Cx, userId: string): string =>
  cx.store.receipt(cx, user, userId)?.owner ?? ""
