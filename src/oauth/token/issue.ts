import { findClient } from "../../domain/app/index.ts"
import { type Claims, halfHash, signer } from "../../domain/key/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { issuerOf } from "../issuer.ts"
import { isActive } from "./active.ts"
import { asOfNow, type Narrow, openAudience } from "./audience.ts"
import { accessTokenClaims, idTokenClaims, userinfoClaims } from "./claims/claims.ts"
import { complemented } from "./claims/complement.ts"
import { idTokenAlgorithm, lifetimesOf } from "./lifetime.ts"
import { isForClientAlone, orgRestriction } from "./scope.ts"
import { jwtClaims, type Statement, type TokenType, writeToken } from "./statement.ts"
import { orgOf } from "./token-parent.ts"

/** What a grant allows; the shared phase makes tokens of it. */
export type Issuance = Pick<
  Statement,
  "grantId" | "userId" | "clientId" | "audience" | "scopes" | "actor"
> & {
  readonly tokenType: TokenType
  /** Seconds that a client's clock may be wrong by. */
  readonly clockSkewSeconds: number
  /** Absent where no id_token belongs to the answer. */
  readonly identity?: Identity
  /** When all of it ends at the latest, in seconds UTC. */
  readonly notAfter?: number
  /** RFC 8693 §2.2.1: what goes out in the place of the access token. */
  readonly instead?: "id_token"
  /** A refresh token that goes with it. */
  readonly refreshToken?: string
  /** Members of the answer that only this grant has. */
  readonly extra?: Readonly<Record<string, string>>
}

/** What an id_token says beside who the user is. */
export type Identity = {
  readonly audience: readonly string[]
  readonly nonce?: string | undefined
  readonly sessionId?: string
  /** ms UTC. */
  readonly authTime?: number
  readonly methods?: readonly string[]
  readonly acr?: string | undefined
  /** The code that this is the answer to. */
  readonly code?: string
  /** Whether the claims of the scopes are in the id_token too, not only at userinfo. */
  readonly withUserClaims?: boolean
  /** OpenID Connect Core §5.5: single claims that are asked for in the id_token. */
  readonly requested?: readonly string[]
}

/** RFC 6749 §5.1, OpenID Connect Core §3.1.3.3. */
export type TokenResponse = {
  readonly access_token: string
  /** RFC 9449 §5: DPoP where the token is bound to a key. RFC 8693 §2.2.1: N_A for no access. */
  readonly token_type: "Bearer" | "DPoP" | "N_A"
  readonly expires_in: number
  readonly scope: string
  readonly id_token?: string
  readonly refresh_token?: string
}

/** `jkt`: of the key that the client showed to hold; see `Statement`. */
export type Allowed = Issuance & { readonly jkt?: string | undefined }

/**
 * Makes the tokens that a grant allows, for the part of it that a request wants. Refuses where what
 * they would hang from has ended.
 */
export async function issue(cx: Cx, asked: Allowed, narrow?: Narrow): Promise<TokenResponse> {
  const allowed = settled(cx, asked, narrow)
  if (allowed.instead === "id_token") return issueInstead(cx, allowed)
  const now = Math.floor(cx.clock.now() / 1000)
  const { grantId, userId, clientId, audience, scopes, actor, jkt } = allowed
  const { clockSkewSeconds: skew, identity, refreshToken, extra } = allowed
  const lifetimes = lifetimesOf(cx, clientId)
  const issued = now - skew
  const { notAfter = Number.POSITIVE_INFINITY } = allowed
  const expires = Math.min(now + lifetimes.access + skew, notAfter)
  const granted = { grantId, userId, clientId, audience, scopes, actor, jkt, issued, expires }
  const claims = allowed.tokenType === "jwt" ? await complementedJwt(cx, allowed) : undefined
  const statement = { ...granted, id: cx.ids.next() }
  const accessToken = await writeToken(cx, statement, allowed.tokenType, claims)
  const answer: TokenResponse = {
    ...extra,
    access_token: accessToken,
    token_type: jkt === undefined ? "Bearer" : "DPoP",
    expires_in: Math.min(lifetimes.access, expires - now),
    scope: scopes.join(" "),
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
  }
  // OpenID Connect Core §3.1.2.1: without the scope openid it is plain OAuth.
  if (!identity || !scopes.includes("openid")) return answer
  const identified = await idClaims(cx, { ...allowed, identity, issued, accessToken })
  return { ...answer, id_token: await signed(cx, clientId, identified) }
}

/**
 * OpenID Connect Core §3.2.2.5 where an id_token alone is asked for: all members of the answer but
 * the access token. Refuses as `issue` does.
 */
export async function issueIdToken(
  cx: Cx,
  asked: Issuance,
): Promise<Omit<TokenResponse, "access_token">> {
  const allowed = settled(cx, asked)
  const { clientId, scopes, identity, clockSkewSeconds: skew } = allowed
  if (!identity) throw new Error("an id_token needs to know of whom it speaks")
  const issued = Math.floor(cx.clock.now() / 1000) - skew
  const claims = await idClaims(cx, { ...allowed, identity, issued, accessToken: undefined })
  return {
    token_type: "Bearer",
    expires_in: lifetimesOf(cx, clientId).id,
    scope: scopes.join(" "),
    id_token: await signed(cx, clientId, claims),
  }
}

/**
 * What an application would get: the decoded tokens, and what userinfo answers. Absent is what does
 * not belong to the answer.
 */
export type Preview = {
  readonly id_token?: Claims
  readonly userinfo?: Claims
  readonly access_token?: Claims | "opaque"
}

type Previewed = Issuance & { readonly identity: Identity; readonly isIdTokenAlone: boolean }

/**
 * What `issue` or, with `isIdTokenAlone`, `issueIdToken` would put into the tokens, for somebody to
 * see. No token is made. Refuses as they do.
 */
export async function preview(cx: Cx, asked: Previewed): Promise<Preview> {
  const allowed = settled(cx, asked)
  const { clientId, tokenType, clockSkewSeconds: skew } = allowed
  const now = Math.floor(cx.clock.now() / 1000)
  const issued = now - skew
  const isOpenId = allowed.scopes.includes("openid")
  const id_token = isOpenId && (await idClaims(cx, { ...allowed, issued, accessToken: undefined }))
  const identified = id_token ? { id_token } : {}
  if (asked.isIdTokenAlone) return identified
  const expires = now + lifetimesOf(cx, clientId).access + skew
  const statement = { ...allowed, id: "", issued, expires }
  const claims = userinfoClaims(cx, allowed)
  return {
    ...identified,
    ...(isOpenId && { userinfo: await complemented(cx, { ...allowed, triggerType: 4, claims }) }),
    access_token:
      tokenType === "jwt"
        ? withoutId(jwtClaims(cx, statement, await complementedJwt(cx, allowed)))
        : "opaque",
  }
}

/** A token that is never made has no ID. */
const withoutId = ({ jti: _, ...claims }: Claims): Claims => claims

const complementedJwt = (cx: Cx, allowed: Issuance): Claims | Promise<Claims> =>
  complemented(cx, { ...allowed, triggerType: 5, claims: accessTokenClaims(cx, allowed) })

/** RFC 8693 §2.2.1: a token that is no access token comes under that name all the same. */
async function issueInstead(cx: Cx, allowed: Allowed): Promise<TokenResponse> {
  const { identity, audience, extra, notAfter = Number.POSITIVE_INFINITY } = allowed
  const claims = { ...allowed, ...(identity && { identity: { ...identity, audience } }) }
  const { id_token: idToken = "", ...rest } = await issueIdToken(cx, claims)
  const now = Math.floor(cx.clock.now() / 1000)
  const expires_in = Math.min(rest.expires_in, notAfter - now)
  return { ...extra, ...rest, access_token: idToken, token_type: "N_A", expires_in }
}

const signed = (cx: Cx, clientId: string, claims: Claims) =>
  signer(cx, idTokenAlgorithm(cx, clientId)).sign(claims, "JWT")

/**
 * What comes of what a grant allows, as things stand: no grant gives a token for a project that its
 * client may not have or its user may not enter.
 */
function settled<T extends Issuance>(cx: Cx, allowed: T, narrow?: Narrow): T {
  mustStand(cx, allowed)
  const open = asOfNow(cx, allowed, narrow)
  if (open.audience.length === 0) {
    throw new OAuthError("invalid_target", "there is no project left that the token could be for")
  }
  const { identity, clientId } = open
  if (!identity) return open
  const counting = openAudience(cx, { ...open, audience: identity.audience })
  const audience = identity.audience.filter((id) => id === clientId || counting.includes(id))
  return { ...open, identity: { ...identity, audience } }
}

function mustStand(cx: Cx, allowed: Issuance): void {
  if (!isActive(cx, allowed)) {
    throw new OAuthError("invalid_grant", "what this was granted for has ended")
  }
  const home = orgRestriction(cx, allowed.scopes)
  if (home !== undefined && home !== orgOf(cx, allowed.userId)) {
    throw new OAuthError("invalid_grant", "the scope is for users of another organisation")
  }
}

type IdTokenClaims = Issuance & {
  readonly identity: Identity
  readonly issued: number
  /** Undefined where none goes with the id_token. */
  readonly accessToken: string | undefined
}

/** OpenID Connect Core §2, §3.1.3.6 and §3.3.2.11. */
async function idClaims(cx: Cx, from: IdTokenClaims): Promise<Claims> {
  const { identity, userId, clientId, issued } = from
  const { nonce, sessionId, authTime, methods, acr, code } = identity
  const alg = idTokenAlgorithm(cx, clientId)
  const expires = issued + lifetimesOf(cx, clientId).id + 2 * from.clockSkewSeconds
  const claims = idTokenClaims(cx, { ...from, ...identity, audience: from.audience })
  return {
    ...(await complemented(cx, { ...from, triggerType: 4, claims })),
    iss: issuerOf(cx).issuer,
    sub: userId,
    aud: audOf(cx, clientId, identity.audience),
    azp: clientId,
    ...(hasClientId(cx, clientId) && { client_id: clientId }),
    iat: issued,
    exp: Math.min(expires, from.notAfter ?? expires),
    ...(from.accessToken !== undefined && { at_hash: halfHash(alg, from.accessToken) }),
    ...(code !== undefined && { c_hash: halfHash(alg, code) }),
    ...(nonce !== undefined && { nonce }),
    ...(sessionId !== undefined && { sid: sessionId }),
    ...(authTime !== undefined && { auth_time: Math.floor(authTime / 1000) }),
    ...(methods !== undefined && { amr: methods }),
    ...(acr !== undefined && { acr }),
    ...(from.actor !== undefined && { act: from.actor }),
  }
}

/** RFC 9068 §2.2: a claim of access tokens, which earlier ID tokens contain beside `azp`. */
function hasClientId(cx: Cx, clientId: string): boolean {
  const state = findClient(cx, clientId)?.state
  return state?.kind !== "oidc" || state.oidc.idTokenClientId
}

/** RFC 7519 §4.1.3: one audience may be a string, and many clients read nothing else. */
function audOf(cx: Cx, clientId: string, audience: readonly string[]): string | readonly string[] {
  const state = findClient(cx, clientId)?.state
  const [only, ...others] = audience
  const isAlone = state?.kind === "oidc" && isForClientAlone(state.oidc)
  return isAlone && only !== undefined && others.length === 0 ? only : audience
}
