import { type Cx, cacheQuery } from "../../store/index.ts"
import { isActive } from "./active.ts"
import { currentToken } from "./audience.ts"
import { readToken, type Statement } from "./statement.ts"
import { isRevoked } from "./token-parent.ts"

/**
 * The claims of an access token if it is from this instance, not expired or revoked, and everything
 * that it depends on is active; without projects that have become inaccessible. Undefined
 * otherwise.
 */
export function findValidToken(cx: Cx, token: string): Statement | undefined {
  const found = checkToken(cx, token)
  return typeof found === "string" ? undefined : found
}

/** The claims of an access token, or why it is invalid. */
export function checkToken(cx: Cx, token: string): Statement | TokenProblem {
  const claims = readToken(cx, token)
  if (!claims) return "token.not_ours"
  if (isRevoked(cx, claims.id)) return "token.revoked"
  return isActive(cx, claims) ? currentStatement(cx, claims) : "token.ended"
}

export type TokenProblem = "token.not_ours" | "token.revoked" | "token.ended"

function currentStatement(cx: Cx, claims: Statement): Statement {
  const cache = statementCache(cx)
  const before = cache.get(claims)
  if (before) return before
  const now = currentToken(cx, claims)
  cache.set(claims, now)
  return now
}

/** By decoded token, which is cached; cleared on every write. */
const statementCache = cacheQuery(() => new WeakMap<Statement, Statement>())
