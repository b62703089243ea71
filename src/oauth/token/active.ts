import { type Cx, cacheQuery } from "../../store/index.ts"
import type { Statement } from "./statement.ts"
import { partyExpiry } from "./token-parent.ts"

/**
 * Whether everything that a token depends on is active: its grant, its user and their organization.
 * Checked at every use of a token.
 */
export function isActive(cx: Cx, claims: Pick<Statement, "grantId" | "userId">): boolean {
  const cache = activityCache(cx)
  // User IDs can contain a slash, but no space.
  const key = `${claims.grantId} ${claims.userId}`
  const until = cache.get(key) ?? partyExpiry(cx, { userId: claims.userId, anchor: claims.grantId })
  if (cache.size < activityCacheMax) cache.set(key, until)
  return cx.clock.now() < until
}

/** Cleared on every write; sessions can also expire earlier. */
const activityCache = cacheQuery(() => new Map<string, number>())
const activityCacheMax = 10_000
