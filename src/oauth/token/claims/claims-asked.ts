import { grant, type RequestedClaims } from "../../../domain/grant/index.ts"
import type { Cx } from "../../../store/index.ts"

/** OpenID Connect Core §5.5: the single claims that were asked for with what a token hangs from. */
export function claimsAskedWith(cx: Cx, anchor: string): RequestedClaims | undefined {
  const grantId = anchor.startsWith("offline/") ? anchor.slice("offline/".length) : anchor
  // What a service user came with asked for none.
  if (grantId.includes("/")) return undefined
  const given = cx.store.state(cx, grant, grantId)
  return given.status === "absent" ? undefined : given.claims
}
