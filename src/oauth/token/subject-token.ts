import { findClient } from "../../domain/app/index.ts"
import { withdrawnAt } from "../../domain/grant/index.ts"
import { isJwt } from "../../protocol/jwt.ts"
import type { Cx } from "../../store/index.ts"
import { isActive } from "./active.ts"
import { checkToken, type TokenProblem } from "./bearer.ts"
import { verifyJwtOfKind } from "./claims/kind.ts"
import { projectsAsAudience } from "./scope.ts"
import type { Statement } from "./statement.ts"
import { tokenParentOf } from "./token-parent.ts"

/** RFC 8693 §3: the supported token types. */
export const tokenTypes = {
  accessToken: "urn:ietf:params:oauth:token-type:access_token",
  jwt: "urn:ietf:params:oauth:token-type:jwt",
  idToken: "urn:ietf:params:oauth:token-type:id_token",
} as const

/** The content of a presented token; an ID token has no ID that could be revoked. */
export type SubjectToken = Omit<Statement, "id" | "issued"> & { readonly id?: string }

/**
 * Reads a token of the requested type, or returns why it is invalid: it was not issued here, or
 * something that it depends on has ended.
 */
export function readSubjectToken(cx: Cx, token: string, type: string): SubjectToken | TokenProblem {
  if (type === tokenTypes.accessToken) return checkToken(cx, token)
  if (type === tokenTypes.jwt) {
    return isJwt(token) ? checkToken(cx, token) : "token.not_ours"
  }
  return type === tokenTypes.idToken ? readIdToken(cx, token) : "token.not_ours"
}

/**
 * An ID token is valid as long as its session; without a session it can't be exchanged. It contains
 * no scopes, so the only one is openid.
 */
function readIdToken(cx: Cx, token: string): SubjectToken | TokenProblem {
  const { claims } = verifyJwtOfKind(cx, token, { kind: "id_token" }) ?? {}
  if (!claims) return "token.not_ours"
  const { sub: userId, azp: clientId, sid, aud, exp, iat } = claims
  if (typeof userId !== "string" || typeof clientId !== "string" || typeof sid !== "string") {
    return "token.not_ours"
  }
  const client = findClient(cx, clientId)
  const grantId = tokenParentOf("session", `${sid}/${client?.appId ?? ""}`)
  if (!isActive(cx, { grantId, userId })) return "token.ended"
  // It depends on the session, which continues when the user withdraws the client's access.
  if (Number(iat) * 1000 <= withdrawnAt(cx, userId, client?.appId ?? "")) return "token.ended"
  const audiences = Array.isArray(aud) ? aud.map(String) : [String(aud)]
  // The access token contains the project of the sign-in; the ID token contains it only on
  // request.
  const isAlone = client && audiences.length === 1 && audiences[0] === clientId
  const audience = isAlone
    ? [clientId, ...projectsAsAudience(cx, [client.state.projectId])]
    : audiences
  return { grantId, userId, clientId, audience, scopes: ["openid"], expires: Number(exp) }
}
