import { type Claims, publicKeys, signer } from "../../domain/key/index.ts"
import { lru } from "../../kernel/lru.ts"
import { isJwt } from "../../protocol/jwt.ts"
import { type Cx, ofInstance } from "../../store/index.ts"
import { issuerOf } from "../issuer.ts"
import { wordsOf } from "../request.ts"
import { kindClaims, readJwt } from "./claims/kind.ts"
import { accessTokenFormat } from "./lifetime.ts"
import { personalStatement } from "./personal.ts"

/**
 * What an access token says. The token itself carries and authenticates it; the store keeps only
 * what it hangs from. Times are seconds, as in JWTs.
 */
export type Statement = {
  readonly id: string
  /** What it hangs from: a grant, or what a service user came with; see `token-parent.ts`. */
  readonly grantId: string
  readonly userId: string
  readonly clientId: string
  readonly audience: readonly string[]
  readonly scopes: readonly string[]
  readonly issued: number
  readonly expires: number
  /** RFC 9449 §6: thumbprint of the key that its holder must show to have. */
  readonly jkt?: string | undefined
  /** RFC 8693 §4.1: who acts for the user; whoever does is not the user. */
  readonly actor?: Actor | undefined
}

/** RFC 8693 §4.1: who acts, and for whom they acted before. */
export type Actor = { readonly sub: string; readonly act?: Actor }

export type TokenType = "bearer" | "jwt"

/**
 * Writes a statement down as an access token: opaque, or a JWT that others can read too. `claims`
 * are what a JWT says beside it.
 */
export async function writeToken(
  cx: Cx,
  statement: Statement,
  type: TokenType,
  claims: Claims = {},
): Promise<string> {
  if (type === "bearer")
    return cx.secrets.seal("token", JSON.stringify(packed(statement)), aboutOf(cx))
  const { algorithm, typ } = accessTokenFormat(cx, statement)
  return signer(cx, algorithm).sign(jwtClaims(cx, statement, claims), typ)
}

/** Everything that a JWT access token contains. */
export function jwtClaims(cx: Cx, statement: Statement, claims: Claims): Claims {
  const { typ } = accessTokenFormat(cx, statement)
  return { ...claims, ...claimsOf(cx, statement), ...kindClaims(typ) }
}

/**
 * Reads an access token of ours that has not expired; undefined for anything else. To check a seal
 * or a signature costs more than all the rest, so what was read lately is kept. A seal holds for
 * ever, a signature while its key is published.
 */
export function readToken(cx: Cx, token: string): Statement | undefined {
  const known = readLately(cx)
  const read = known.get(token) ?? checkToken(cx, token)
  if (!read) return undefined
  known.set(token, read)
  if (read.signed && !isOurs(cx, read.signed)) return undefined
  return isOver(cx, read.statement) ? undefined : read.statement
}

/** What was taken for expired stays so, also where a clock that was ahead is set right. */
function isOver(cx: Cx, { issued, expires }: Statement): boolean {
  const now = cx.clock.now()
  const span = { issued: issued * 1000, expires: expires * 1000 }
  return span.expires <= now || cx.store.isForgotten(span, now)
}

type Read = { readonly statement: Statement; readonly signed?: Signed }

/** By whom, and with which key. */
type Signed = { readonly issuer: string; readonly kid: string }

const readLately = ofInstance(() => lru<Read>(4096))

const isOurs = (cx: Cx, { issuer, kid }: Signed): boolean =>
  issuer === issuerOf(cx).issuer && publicKeys(cx).some((key) => key.kid === kid)

/** Whether an opaque access token was issued here, expired or not. */
export const isOpaqueToken = (cx: Cx, token: string): boolean =>
  checkOpaque(cx, token) !== undefined

function checkToken(cx: Cx, token: string): Read | undefined {
  if (isJwt(token)) return checkJwt(cx, token)
  const statement = personalStatement(cx, token)
  return statement ? { statement } : checkOpaque(cx, token)
}

/** Ids may repeat across instances: a token of one must not open in another. */
const aboutOf = (cx: Cx) => `access_token/${cx.instance}`

/** A list keeps the token short; what is written here is read only here. */
const packed = (statement: Statement) => [
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

function checkOpaque(cx: Cx, token: string): Read | undefined {
  const plain = cx.secrets.open("token", token, aboutOf(cx))
  if (plain === undefined) return undefined
  const [version, id, grantId, userId, clientId, audience, scopes, ...rest] = JSON.parse(plain)
  if (version !== 1) return undefined
  const [issued, expires, jkt, actor] = rest
  const statement = { id, grantId, userId, clientId, audience, scopes, issued, expires }
  return { statement: { ...statement, ...(jkt && { jkt }), ...(actor && { actor }) } }
}

/** The grant stands before the token's own id. */
export const jtiOf = ({ grantId, id }: Statement): string => `${grantId}-${id}`

/** Resource servers whose clock is a little behind accept the token, too. */
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

function checkJwt(cx: Cx, token: string): Read | undefined {
  const read = readJwt(cx, token, { kind: "access_token" })
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
    scopes: wordsOf(String(scope)),
    issued: Number(iat),
    expires: Number(exp),
    ...(typeof cnf === "object" && cnf !== null && { jkt: textOf(Reflect.get(cnf, "jkt")) }),
    ...(act !== undefined && { actor: actorOf(act) }),
  }
  return { statement, signed: { issuer: claims.iss, kid } }
}

const textOf = (value: unknown) => (typeof value === "string" ? value : "")

/** We signed it, so it has the form that we gave it. */
function actorOf(value: unknown): Actor {
  const act = typeof value === "object" && value !== null ? value : {}
  const before: unknown = Reflect.get(act, "act")
  return {
    sub: textOf(Reflect.get(act, "sub")),
    ...(before !== undefined && { act: actorOf(before) }),
  }
}
