import { type Cx, cached } from "../../store/index.ts"
import { isActive } from "./active.ts"
import { asOfNow } from "./audience.ts"
import { readToken, type Statement } from "./statement.ts"
import { isRevoked } from "./token-parent.ts"

/**
 * What an access token says, if it is ours, has neither expired nor been revoked, and all it hangs
 * from still stands; without projects that have been closed to it since.
 */
export function validToken(cx: Cx, token: string): Statement | undefined {
  const found = checkedToken(cx, token)
  return typeof found === "string" ? undefined : found
}

/** The same, or why it is worth nothing. */
export function checkedToken(cx: Cx, token: string): Statement | TokenEnd {
  const claims = readToken(cx, token)
  if (!claims) return "token.not_ours"
  if (isRevoked(cx, claims.id)) return "token.revoked"
  return isActive(cx, claims) ? readNow(cx, claims) : "token.ended"
}

export type TokenEnd = "token.not_ours" | "token.revoked" | "token.ended"

function readNow(cx: Cx, claims: Statement): Statement {
  const known = answers(cx)
  const before = known.get(claims)
  if (before) return before
  const now = asOfNow(cx, claims)
  known.set(claims, now)
  return now
}

/** By what was read of a token, which is kept; good until anything is written. */
const answers = cached(() => new WeakMap<Statement, Statement>())
