import { decodeProtectedHeader } from "jose"
import { algorithms, type Claims, publicKeys, signer, verifyJwt } from "../../domain/key/index.ts"
import { recent } from "../../kernel/recent.ts"
import { type Cx, ofInstance } from "../../store/index.ts"
import { ownOf } from "../own.ts"
import { wordsOf } from "../request.ts"
import { signingAlgs } from "./lifetime.ts"
import { personalStatement } from "./personal.ts"

/**
 * What an access token says. The token itself carries and authenticates it; the store keeps only
 * what it hangs from. Times are seconds, as in JWTs.
 */
export type Statement = {
  readonly id: string
  /** What it hangs from: a grant, or what a service user came with; see `anchor.ts`. */
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
  said: Statement,
  type: TokenType,
  claims: Claims = {},
): Promise<string> {
  if (type === "bearer") return cx.secrets.seal("token", JSON.stringify(packed(said)), aboutOf(cx))
  const { accessToken } = signingAlgs(cx, said.clientId)
  return signer(cx, accessToken).sign({ ...claims, ...claimsOf(cx, said) }, jwtType)
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
  return isOver(cx, read.said) ? undefined : read.said
}

/** What was taken for expired stays so, also where a clock that was ahead is set right. */
function isOver(cx: Cx, { issued, expires }: Statement): boolean {
  const now = cx.clock.now()
  const span = { issued: issued * 1000, expires: expires * 1000 }
  return span.expires <= now || cx.store.isForgotten(span, now)
}

type Read = { readonly said: Statement; readonly signed?: Signed }

/** By whom, and with which key. */
type Signed = { readonly issuer: string; readonly kid: string }

const readLately = ofInstance(() => recent<Read>(4096))

const isOurs = (cx: Cx, { issuer, kid }: Signed): boolean =>
  issuer === ownOf(cx).issuer && publicKeys(cx).some((key) => key.kid === kid)

function checkToken(cx: Cx, token: string): Read | undefined {
  if (token.split(".").length === 3) return checkJwt(cx, token)
  const said = personalStatement(cx, token)
  return said ? { said } : checkOpaque(cx, token)
}

/** Ids may repeat across instances: a token of one must not open in another. */
const aboutOf = (cx: Cx) => `access_token/${cx.instance}`

/** RFC 9068 §2.1: so that no other JWT of ours passes for an access token. */
const jwtType = "at+jwt"

/** A list keeps the token short; what is written here is read only here. */
const packed = (said: Statement) => [
  1,
  said.id,
  said.grantId,
  said.userId,
  said.clientId,
  said.audience,
  said.scopes,
  said.issued,
  said.expires,
  ...(said.jkt !== undefined || said.actor ? [said.jkt ?? "", said.actor] : []),
]

function checkOpaque(cx: Cx, token: string): Read | undefined {
  const plain = cx.secrets.open("token", token, aboutOf(cx))
  if (plain === undefined) return undefined
  const [version, id, grantId, userId, clientId, audience, scopes, ...rest] = JSON.parse(plain)
  if (version !== 1) return undefined
  const [issued, expires, jkt, actor] = rest
  const said = { id, grantId, userId, clientId, audience, scopes, issued, expires }
  return { said: { ...said, ...(jkt && { jkt }), ...(actor && { actor }) } }
}

/** The grant stands before the token's own id. */
export const jtiOf = ({ grantId, id }: Statement): string => `${grantId}-${id}`

/** RFC 9068 §2.2. */
const claimsOf = (cx: Cx, said: Statement): Claims => ({
  iss: ownOf(cx).issuer,
  sub: said.userId,
  aud: said.audience,
  client_id: said.clientId,
  iat: said.issued,
  nbf: said.issued,
  exp: said.expires,
  jti: jtiOf(said),
  scope: said.scopes.join(" "),
  // RFC 9449 §6.1.
  ...(said.jkt !== undefined && { cnf: { jkt: said.jkt } }),
  ...(said.actor !== undefined && { act: said.actor }),
})

function checkJwt(cx: Cx, token: string): Read | undefined {
  const claims = verifyJwt(cx, token, { typ: jwtType, algorithms })
  if (claims?.iss !== ownOf(cx).issuer) return undefined
  const { sub, aud, client_id: clientId, iat, exp, jti, scope, cnf, act } = claims
  if (typeof sub !== "string" || typeof clientId !== "string" || typeof jti !== "string") {
    return undefined
  }
  const dash = jti.lastIndexOf("-")
  const said: Statement = {
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
  return { said, signed: { issuer: claims.iss, kid: decodeProtectedHeader(token).kid ?? "" } }
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
