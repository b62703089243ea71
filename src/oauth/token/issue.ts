import { findClient } from "../../domain/app/index.ts"
import { type Claims, getSigner, halfHash } from "../../domain/key/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { issuerOf } from "../issuer.ts"
import { isActive } from "./active.ts"
import { currentAudience, currentToken, type Narrow } from "./audience.ts"
import { accessTokenClaims, idTokenClaims, userinfoClaims } from "./claims/claims.ts"
import { withScriptClaims } from "./claims/script-claims.ts"
import { idTokenAlgorithm, lifetimesOf } from "./lifetime.ts"
import { isForClientAlone, orgRestriction } from "./scope.ts"
import { issueToken, jwtClaims, type Statement, type TokenType } from "./statement.ts"
import { orgOf } from "./token-parent.ts"

/** What a grant allows; a shared phase issues the tokens. */
export type Issuance = Pick<
  Statement,
  "grantId" | "userId" | "clientId" | "audience" | "scopes" | "actor"
> & {
  readonly tokenType: TokenType
  /** Tolerated clock skew of the client, in seconds. */
  readonly clockSkewSeconds: number
  /** Absent if the response contains no ID token. */
  readonly identity?: Identity
  /** The latest expiry of all tokens, in seconds UTC. */
  readonly notAfter?: number
  /** RFC 8693 §2.2.1: returned instead of the access token. */
  readonly issuedType?: "id_token"
  /** The refresh token in the response. */
  readonly refreshToken?: string
  /** Members of the response that only this grant has. */
  readonly extra?: Readonly<Record<string, string>>
}

/** The content of an ID token, besides the user. */
export type Identity = {
  readonly audience: readonly string[]
  readonly nonce?: string | undefined
  readonly sessionId?: string
  /** ms UTC. */
  readonly authTime?: number
  readonly methods?: readonly string[]
  readonly acr?: string | undefined
  /** The code that was exchanged. */
  readonly code?: string
  /** Whether the ID token contains the claims of the scopes, too, not only userinfo. */
  readonly withUserClaims?: boolean
  /** OpenID Connect Core §5.5: individual claims that are requested for the ID token. */
  readonly requested?: readonly string[]
}

/** RFC 6749 §5.1, OpenID Connect Core §3.1.3.3. */
export type TokenResponse = {
  readonly access_token: string
  /**
   * RFC 9449 §5: DPoP if the token is bound to a key. RFC 8693 §2.2.1: N_A if it is no access
   * token.
   */
  readonly token_type: "Bearer" | "DPoP" | "N_A"
  readonly expires_in: number
  readonly scope: string
  readonly id_token?: string
  readonly refresh_token?: string
}

/** `jkt`: thumbprint of the key that the client proved possession of; see `Statement`. */
export type IssueInput = Issuance & { readonly jkt?: string | undefined }

/**
 * Issues the tokens that a grant allows, restricted to what the request asks for. Throws if
 * something that they depend on has ended.
 */
export async function issueTokens(
  cx: Cx,
  input: IssueInput,
  narrow?: Narrow,
): Promise<TokenResponse> {
  const allowed = currentIssuance(cx, input, narrow)
  if (allowed.issuedType === "id_token") return issueOtherType(cx, allowed)
  const now = Math.floor(cx.clock.now() / 1000)
  const { grantId, userId, clientId, audience, scopes, actor, jkt } = allowed
  const { clockSkewSeconds: skew, identity, refreshToken, extra } = allowed
  const lifetimes = lifetimesOf(cx, clientId)
  const issued = now - skew
  const { notAfter = Number.POSITIVE_INFINITY } = allowed
  const expires = Math.min(now + lifetimes.access + skew, notAfter)
  const granted = { grantId, userId, clientId, audience, scopes, actor, jkt, issued, expires }
  const claims = allowed.tokenType === "jwt" ? await accessTokenClaimsOf(cx, allowed) : undefined
  const statement = { ...granted, id: cx.ids.next() }
  const accessToken = await issueToken(cx, statement, allowed.tokenType, claims)
  const answer: TokenResponse = {
    ...extra,
    access_token: accessToken,
    token_type: jkt === undefined ? "Bearer" : "DPoP",
    expires_in: Math.min(lifetimes.access, expires - now),
    scope: scopes.join(" "),
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
  }
  // OpenID Connect Core §3.1.2.1: without the scope openid, it is plain OAuth.
  if (!identity || !scopes.includes("openid")) return answer
  const identified = await buildIdToken(cx, { ...allowed, identity, issued, accessToken })
  return { ...answer, id_token: await signIdToken(cx, clientId, identified) }
}

/**
 * OpenID Connect Core §3.2.2.5, if only an ID token is requested: all members of the response
 * except the access token. Throws like `issue`.
 */
export async function issueIdToken(
  cx: Cx,
  input: Issuance,
): Promise<Omit<TokenResponse, "access_token">> {
  const allowed = currentIssuance(cx, input)
  const { clientId, scopes, identity, clockSkewSeconds: skew } = allowed
  if (!identity) throw new Error("an ID token requires the identity of the user")
  const issued = Math.floor(cx.clock.now() / 1000) - skew
  const claims = await buildIdToken(cx, { ...allowed, identity, issued, accessToken: undefined })
  return {
    token_type: "Bearer",
    expires_in: lifetimesOf(cx, clientId).id,
    scope: scopes.join(" "),
    id_token: await signIdToken(cx, clientId, claims),
  }
}

/**
 * What an application would receive: the decoded tokens, and the userinfo response. Members that
 * the response would not contain are absent.
 */
export type Preview = {
  readonly id_token?: Claims
  readonly userinfo?: Claims
  readonly access_token?: Claims | "opaque"
}

type PreviewInput = Issuance & { readonly identity: Identity; readonly isIdTokenAlone: boolean }

/**
 * The tokens that `issue`, or with `isIdTokenAlone` `issueIdToken`, would issue, for display. No
 * token is issued. Throws like them.
 */
export async function previewTokens(cx: Cx, input: PreviewInput): Promise<Preview> {
  const allowed = currentIssuance(cx, input)
  const { clientId, tokenType, clockSkewSeconds: skew } = allowed
  const now = Math.floor(cx.clock.now() / 1000)
  const issued = now - skew
  const isOpenId = allowed.scopes.includes("openid")
  const id_token =
    isOpenId && (await buildIdToken(cx, { ...allowed, issued, accessToken: undefined }))
  const identified = id_token ? { id_token } : {}
  if (input.isIdTokenAlone) return identified
  const expires = now + lifetimesOf(cx, clientId).access + skew
  const statement = { ...allowed, id: "", issued, expires }
  const claims = userinfoClaims(cx, allowed)
  return {
    ...identified,
    ...(isOpenId && {
      userinfo: await withScriptClaims(cx, { ...allowed, triggerType: 4, claims }),
    }),
    access_token:
      tokenType === "jwt"
        ? withoutId(jwtClaims(cx, statement, await accessTokenClaimsOf(cx, allowed)))
        : "opaque",
  }
}

/** A token that is not issued has no ID. */
const withoutId = ({ jti: _, ...claims }: Claims): Claims => claims

const accessTokenClaimsOf = (cx: Cx, allowed: Issuance): Claims | Promise<Claims> =>
  withScriptClaims(cx, { ...allowed, triggerType: 5, claims: accessTokenClaims(cx, allowed) })

/** RFC 8693 §2.2.1: the member is named access_token even for a token of another type. */
async function issueOtherType(cx: Cx, allowed: IssueInput): Promise<TokenResponse> {
  const { identity, audience, extra, notAfter = Number.POSITIVE_INFINITY } = allowed
  const claims = { ...allowed, ...(identity && { identity: { ...identity, audience } }) }
  const { id_token: idToken = "", ...rest } = await issueIdToken(cx, claims)
  const now = Math.floor(cx.clock.now() / 1000)
  const expires_in = Math.min(rest.expires_in, notAfter - now)
  return { ...extra, ...rest, access_token: idToken, token_type: "N_A", expires_in }
}

const signIdToken = (cx: Cx, clientId: string, claims: Claims) =>
  getSigner(cx, idTokenAlgorithm(cx, clientId)).sign(claims, "JWT")

/**
 * What a grant allows, under current conditions: no grant issues a token for a project that its
 * client can't access or its user can't sign in to.
 */
function currentIssuance<T extends Issuance>(cx: Cx, allowed: T, narrow?: Narrow): T {
  requireActiveIssuance(cx, allowed)
  const open = currentToken(cx, allowed, narrow)
  if (open.audience.length === 0) {
    throw new OAuthError("invalid_target", "no project is left that the token could be for")
  }
  const { identity, clientId } = open
  if (!identity) return open
  const counting = currentAudience(cx, { ...open, audience: identity.audience })
  const audience = identity.audience.filter((id) => id === clientId || counting.includes(id))
  return { ...open, identity: { ...identity, audience } }
}

function requireActiveIssuance(cx: Cx, allowed: Issuance): void {
  if (!isActive(cx, allowed)) {
    throw new OAuthError(
      "invalid_grant",
      "the grant, user or organization of this token is no longer active",
    )
  }
  const home = orgRestriction(cx, allowed.scopes)
  if (home !== undefined && home !== orgOf(cx, allowed.userId)) {
    throw new OAuthError("invalid_grant", "the scope is only for users of another organization")
  }
}

type IdTokenInput = Issuance & {
  readonly identity: Identity
  readonly issued: number
  /** Undefined if no access token accompanies the ID token. */
  readonly accessToken: string | undefined
}

/** OpenID Connect Core §2, §3.1.3.6 and §3.3.2.11. */
async function buildIdToken(cx: Cx, from: IdTokenInput): Promise<Claims> {
  const { identity, userId, clientId, issued } = from
  const { nonce, sessionId, authTime, methods, acr, code } = identity
  const alg = idTokenAlgorithm(cx, clientId)
  const expires = issued + lifetimesOf(cx, clientId).id + 2 * from.clockSkewSeconds
  const claims = idTokenClaims(cx, { ...from, ...identity, audience: from.audience })
  return {
    ...(await withScriptClaims(cx, { ...from, triggerType: 4, claims })),
    iss: issuerOf(cx).issuer,
    sub: userId,
    aud: audienceClaim(cx, clientId, identity.audience),
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

/**
 * RFC 9068 §2.2: a claim of access tokens, which ID tokens of older applications contain in
 * addition to `azp`.
 */
function hasClientId(cx: Cx, clientId: string): boolean {
  const state = findClient(cx, clientId)?.state
  return state?.kind !== "oidc" || state.oidc.idTokenClientId
}

/** RFC 7519 §4.1.3: a single audience can be a string, and many clients accept only that. */
function audienceClaim(
  cx: Cx,
  clientId: string,
  audience: readonly string[],
): string | readonly string[] {
  const state = findClient(cx, clientId)?.state
  const [only, ...others] = audience
  const isAlone = state?.kind === "oidc" && isForClientAlone(state.oidc)
  return isAlone && only !== undefined && others.length === 0 ? only : audience
}
