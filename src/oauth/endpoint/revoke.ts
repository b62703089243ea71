import { endGrant, grant, revokeToken } from "../../domain/grant/index.ts"
import { findingWithoutValue } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import {
  type AuthenticatedClient,
  authenticateClient,
  isOwnToken,
} from "../client/authentication.ts"
import { OAuthError } from "../error.ts"
import { parseParameters, requireParameter } from "../parameters.ts"
import { anyOrigin, noStore } from "../response.ts"
import { openRefreshToken } from "../token/refresh.ts"
import { readToken } from "../token/statement.ts"
import type { Endpoint } from "./endpoint.ts"

/** RFC 7009 §2. The token type hint is not needed: each type is recognizable. */
export const revoke: Endpoint = {
  methods: ["POST"],
  anyOrigin: true,
  handle: async ({ cx, request, form }) => {
    const parameters = parseParameters(await form())
    const authorization = request.headers.get("authorization")
    const client = await authenticateClient(cx, { parameters, authorization })
    const token = requireParameter(parameters, "token")
    const refresh = openRefreshToken(cx, token)
    if (refresh) await revokeGrant(cx, client, refresh.grantId)
    else await revokeAccess(cx, client, token)
    // RFC 7009 §2.2: the same response for an unknown or invalid token.
    return new Response(null, { headers: { ...noStore, ...anyOrigin } })
  },
}

/** RFC 7009 §2.1: revoking a refresh token revokes all tokens of its grant. */
async function revokeGrant(cx: Cx, client: AuthenticatedClient, grantId: string): Promise<void> {
  const tokenOwner = cx.store.state(cx, grant, grantId)
  if (tokenOwner.status === "absent") return
  requireOwnToken(cx, client, tokenOwner)
  await cx.store.transact(cx, (tx) => endGrant(tx, grantId, "revoked by its client"))
}

/** Revokes one access token only. */
async function revokeAccess(cx: Cx, client: AuthenticatedClient, token: string): Promise<void> {
  const claims = readToken(cx, token)
  if (!claims) return
  requireOwnToken(cx, client, claims)
  await cx.store.transact(cx, (tx) => revokeToken(tx, claims.id, claims.expires * 1000))
}

/**
 * RFC 7009 §2.1: only the client that a token was issued to can revoke it. Other clients receive
 * the error of RFC 6749 §5.2 for a token of another client.
 */
function requireOwnToken(
  cx: Cx,
  client: AuthenticatedClient,
  tokenOwner: { readonly clientId: string; readonly userId: string },
): void {
  if (isOwnToken(cx, client, tokenOwner)) return
  throw new OAuthError("invalid_grant", "the token was issued to another client", {
    finding: findingWithoutValue("token", "refresh.other_client"),
  })
}
