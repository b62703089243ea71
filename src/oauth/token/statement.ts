import { type Claims, getSigner, publicKeys } from "../../domain/key/index.ts"
import { lru } from "../../kernel/lru.ts"
import { isJwt } from "../../protocol/jwt.ts"
import { type Cx, perInstance } from "../../store/index.ts"
import { issuerOf } from "../issuer.ts"
import { splitWords } from "../parameters.ts"
import { kindClaims, verifyJwtOfKind } from "./claims/kind.ts"
import { accessTokenFormat } from "./lifetime.ts"
import { findPersonalStatement } from "./personal.ts"

/**
 * The content of an access token. The token itself contains and authenticates it; only what it
 * depends on is stored. Times are in seconds, as in JWTs.
 */
export type Statement = {
  readonly id: string
  /** What it depends on: a grant, or the credential of a service account; see `token-parent.ts`. */
  readonly grantId: string
  readonly userId: string
  readonly clientId: string
  readonly audience: readonly string[]
  readonly scopes: readonly string[]
  readonly issued: number
  readonly expires: number
  /** RFC 9449 §6: thumbprint of the key that the client must prove possession of. */
  readonly jkt?: string | undefined
  /** RFC 8693 §4.1: the actor, who is not the user. */
  readonly actor?: Actor | undefined
}

/** RFC 8693 §4.1: the actor, and the previous actors. */
export type Actor = { readonly sub: string; readonly act?: Actor }

export type TokenType = "bearer" | "jwt"

/**
 * Issues an access token: opaque, or a JWT that resource servers can read. `claims` are added to a
 * JWT.
 */
export async function issueToken(
  cx: Cx,
  statement: Statement,
  type: TokenType,
  claims: Claims = {},
): Promise<string> {
  if (type === "bearer")
    return cx.secrets.seal("token", JSON.stringify(toCompact(statement)), sealContextOf(cx))
  const { algorithm, typ } = accessTokenFormat(cx, statement)
  return getSigner(cx, algorithm).sign(jwtClaims(cx, statement, claims), typ)
}

/** All claims of a JWT access token. */
export function jwtClaims(cx: Cx, statement: Statement, claims: Claims): Claims {
  const { typ } = accessTokenFormat(cx, statement)
  return { ...claims, ...claimsOf(cx, statement), ...kindClaims(typ) }
}

/**
 * Reads an access token of this instance that has not expired; undefined if it is invalid. Checking
 * a seal or a signature costs more than everything else, so recent results are cached. A seal is
 * valid forever, a signature while its key is published.
 */
export function readToken(cx: Cx, token: string): Statement | undefined {
  const cache = tokenCache(cx)
  const read = cache.get(token) ?? checkToken(cx, token)
  if (!read) return undefined
  cache.set(token, read)
  if (read.signed && !isPublishedKey(cx, read.signed)) return undefined
  return isExpired(cx, read.statement) ? undefined : read.statement
}

/** A token that was once considered expired remains so, even if a wrong clock is corrected. */
function isExpired(cx: Cx, { issued, expires }: Statement): boolean {
  const now = cx.clock.now()
  const span = { issued: issued * 1000, expires: expires * 1000 }
  return span.expires <= now || cx.store.isForgotten(span, now)
}

type ReadToken = { readonly statement: Statement; readonly signed?: SignatureInfo }

/** The issuer and the key. */
type SignatureInfo = { readonly issuer: string; readonly kid: string }

const tokenCache = perInstance(() => lru<ReadToken>(4096))

const isPublishedKey = (cx: Cx, { issuer, kid }: SignatureInfo): boolean =>
  issuer === issuerOf(cx).issuer && publicKeys(cx).some((key) => key.kid === kid)

/** Whether an opaque access token was issued here, expired or not. */
export const isOpaqueToken = (cx: Cx, token: string): boolean =>
  checkOpaque(cx, token) !== undefined

function checkToken(cx: Cx, token: string): ReadToken | undefined {
  if (isJwt(token)) return checkJwt(cx, token)
  const statement = findPersonalStatement(cx, token)
  return statement ? { statement } : checkOpaque(cx, token)
}

/** IDs may repeat across instances: a token of one instance must not be valid in another. */
const sealContextOf = (cx: Cx) => `access_token/${cx.instance}`

/** An array makes the token short; only this server reads it. */
const toCompact = (statement: Statement) => [
  1,
  statement.id,
  statement.grantId,
  statement.userId,
  statement.clientId,
  statement.audience,
  statement.scopes,
  statement.issued,
  statement.expires,
  ...(statement.jkt !== undefined || statement.actor ? [statement.jkt ?? "", statement.actor] : []),
]

function checkOpaque(cx: Cx, token: string): ReadToken | undefined {
  const plain = cx.secrets.open("token", token, sealContextOf(cx))
  if (plain === undefined) return undefined
  const [version, id, grantId, userId, clientId, audience, scopes, ...rest] = JSON.parse(plain)
  if (version !== 1) return undefined
  const [issued, expires, jkt, actor] = rest
  const statement = { id, grantId, userId, clientId, audience, scopes, issued, expires }
  return { statement: { ...statement, ...(jkt && { jkt }), ...(actor && { actor }) } }
}

/** The grant ID precedes the token ID. */
export const jtiOf = ({ grantId, id }: Statement): string => `${grantId}-${id}`

/** Tolerates resource servers whose clock is slightly behind. */
export const notBefore = ({ issued }: Pick<Statement, "issued">): number => issued - 60

/** RFC 9068 §2.2. */
const claimsOf = (cx: Cx, statement: Statement): Claims => ({
  iss: issuerOf(cx).issuer,
  sub: statement.userId,
  aud: statement.audience,
  client_id: statement.clientId,
  iat: statement.issued,
  nbf: notBefore(statement),
  exp: statement.expires,
  jti: jtiOf(statement),
  scope: statement.scopes.join(" "),
  // RFC 9449 §6.1.
  ...(statement.jkt !== undefined && { cnf: { jkt: statement.jkt } }),
  ...(statement.actor !== undefined && { act: statement.actor }),
})

function checkJwt(cx: Cx, token: string): ReadToken | undefined {
  const read = verifyJwtOfKind(cx, token, { kind: "access_token" })
  if (!read) return undefined
  const { claims, kid } = read
  const { sub, aud, client_id: clientId, iat, exp, jti, scope, cnf, act } = claims
  if (typeof sub !== "string" || typeof clientId !== "string" || typeof jti !== "string") {
    return undefined
  }
  const dash = jti.lastIndexOf("-")
  const statement: Statement = {
    id: jti.slice(dash + 1),
    grantId: jti.slice(0, dash),
    userId: sub,
    clientId,
    audience: Array.isArray(aud) ? aud.map(String) : [String(aud)],
    scopes: splitWords(String(scope)),
    issued: Number(iat),
    expires: Number(exp),
    ...(typeof cnf === "object" && cnf !== null && { jkt: stringOf(Reflect.get(cnf, "jkt")) }),
    ...(act !== undefined && { actor: parseActor(act) }),
  }
  return { statement, signed: { issuer: claims.iss, kid } }
}

const stringOf = (value: unknown) => (typeof value === "string" ? value : "")

/** Issued by this server, so its structure is known. */
function parseActor(value: unknown): Actor {
  const act = typeof value === "object" && value !== null ? value : {}
  const before: unknown = Reflect.get(act, "act")
  return {
    sub: stringOf(Reflect.get(act, "sub")),
    ...(before !== undefined && { act: parseActor(before) }),
  }
}
