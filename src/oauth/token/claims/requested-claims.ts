import { grant, type RequestedClaims } from "../../../domain/grant/index.ts"
import type { Cx } from "../../../store/index.ts"

/** OpenID Connect Core §5.5: the individual claims in the request that a token depends on. */
export function findRequestedClaims(cx: Cx, anchor: string): RequestedClaims | undefined {
  const grantId = anchor.startsWith("offline/") ? anchor.slice("offline/".length) : anchor
  // Credentials of service accounts have no requested claims.
  if (grantId.includes("/")) return undefined
  const grantState = cx.store.state(cx, grant, grantId)
  return grantState.status === "absent" ? undefined : grantState.claims
}
