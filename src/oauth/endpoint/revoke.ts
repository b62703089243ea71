import { endGrant, grant, revokeToken } from "../../domain/grant/index.ts"
import { about } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import {
  type AuthenticatedClient,
  authenticateClient,
  isOwnToken,
} from "../client/authentication.ts"
import { OAuthError } from "../error.ts"
import { parametersOf, required } from "../request.ts"
import { anyOrigin, noStore } from "../response.ts"
import { readRefreshToken } from "../token/refresh.ts"
import { readToken } from "../token/statement.ts"
import type { Endpoint } from "./endpoint.ts"

/** RFC 7009 §2. A hint at the type of the token is not needed: each type is found by itself. */
export const revoke: Endpoint = {
  methods: ["POST"],
  anyOrigin: true,
  answer: async ({ cx, request, form }) => {
    const parameters = parametersOf(await form())
    const authorization = request.headers.get("authorization")
    const client = await authenticateClient(cx, { parameters, authorization })
    const token = required(parameters, "token")
    const refresh = readRefreshToken(cx, token)
    if (refresh) await revokeGrant(cx, client, refresh.grantId)
    else await revokeAccess(cx, client, token)
    // RFC 7009 §2.2: also for a token that nobody knows, or that is worth nothing already.
    return new Response(null, { headers: { ...noStore, ...anyOrigin } })
  },
}

/** RFC 7009 §2.1: with a refresh token go all tokens that hang from the same grant. */
async function revokeGrant(cx: Cx, client: AuthenticatedClient, grantId: string): Promise<void> {
  const given = cx.store.state(cx, grant, grantId)
  if (given.status === "absent") return
  mustBeOf(cx, client, given)
  await cx.store.transact(cx, (tx) => endGrant(tx, grantId, "revoked by its client"))
}

/** An access token goes alone. */
async function revokeAccess(cx: Cx, client: AuthenticatedClient, token: string): Promise<void> {
  const claims = readToken(cx, token)
  if (!claims) return
  mustBeOf(cx, client, claims)
  await cx.store.transact(cx, (tx) => revokeToken(tx, claims.id, claims.expires * 1000))
}

/**
 * RFC 7009 §2.1: a token is revoked by the client it was issued to. Anybody else is told, in the
 * words of RFC 6749 §5.2 for a token of another client.
 */
function mustBeOf(
  cx: Cx,
  client: AuthenticatedClient,
  given: { readonly clientId: string; readonly userId: string },
): void {
  if (isOwnToken(cx, client, given)) return
  throw new OAuthError("invalid_grant", "the token was issued to another client", {
    finding: about("token", "refresh.other_client"),
  })
}
