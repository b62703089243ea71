import { createHash } from "node:crypto"
import { type Claims, signer } from "../../domain/key/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { ownOf } from "../own.ts"
import { stands } from "./chain.ts"
import { userClaims } from "./claims.ts"
import { type Statement, type TokenType, writeToken } from "./statement.ts"

/** Seconds. */
export const tokenLifetimes = { access: 12 * 3600, id: 12 * 3600 } as const

/** What a grant allows; the shared phase makes tokens of it. */
export type Issuance = Pick<
  Statement,
  "grantId" | "userId" | "clientId" | "audience" | "scopes"
> & {
  readonly tokenType: TokenType
  /** Seconds that a client's clock may be wrong by. */
  readonly clockSkewSeconds: number
  readonly identity: Identity
}

/** What an id_token says beside who the user is. */
export type Identity = {
  readonly audience: readonly string[]
  readonly nonce?: string | undefined
  readonly sessionId?: string
  /** ms UTC. */
  readonly authTime?: number
  readonly methods?: readonly string[]
  /** Whether the claims of the scopes are in the id_token too, not only at userinfo. */
  readonly withUserClaims?: boolean
}

/** RFC 6749 §5.1, OpenID Connect Core §3.1.3.3. */
export type TokenResponse = {
  readonly access_token: string
  readonly token_type: "Bearer"
  readonly expires_in: number
  readonly scope: string
  readonly id_token?: string
}

/** Makes the tokens that a grant allows. Refuses where what they would hang from has ended. */
export async function issue(cx: Cx, allowed: Issuance): Promise<TokenResponse> {
  if (!stands(cx, allowed)) {
    throw new OAuthError("invalid_grant", "what this was granted for has ended")
  }
  const now = Math.floor(cx.clock.now() / 1000)
  const { tokenType, clockSkewSeconds: skew, identity, ...said } = allowed
  const issued = now - skew
  const expires = now + tokenLifetimes.access + skew
  const accessToken = await writeToken(
    cx,
    { ...said, id: cx.ids.next(), issued, expires },
    tokenType,
  )
  const answer: TokenResponse = {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: tokenLifetimes.access,
    scope: said.scopes.join(" "),
  }
  // OpenID Connect Core §3.1.2.1: without the scope openid it is plain OAuth.
  if (!said.scopes.includes("openid")) return answer
  const claims = idClaims(cx, { ...allowed, issued, accessToken })
  return { ...answer, id_token: await signer(cx, "RS256").sign(claims, "JWT") }
}

/** OpenID Connect Core §2 and §3.1.3.6. */
function idClaims(
  cx: Cx,
  from: Issuance & { readonly issued: number; readonly accessToken: string },
): Claims {
  const { identity, userId, clientId, issued } = from
  const { nonce, sessionId, authTime, methods } = identity
  return {
    ...(identity.withUserClaims ? userClaims(cx, userId, from.scopes) : {}),
    iss: ownOf(cx).issuer,
    sub: userId,
    aud: identity.audience,
    azp: clientId,
    client_id: clientId,
    iat: issued,
    exp: issued + tokenLifetimes.id + 2 * from.clockSkewSeconds,
    at_hash: halfHash(from.accessToken),
    ...(nonce !== undefined && { nonce }),
    ...(sessionId !== undefined && { sid: sessionId }),
    ...(authTime !== undefined && { auth_time: Math.floor(authTime / 1000) }),
    ...(methods !== undefined && { amr: methods }),
  }
}

/** The left half of the hash that belongs to RS256. */
const halfHash = (text: string): string =>
  createHash("sha256").update(text).digest().subarray(0, 16).toString("base64url")
