import { findClient } from "../../domain/app/index.ts"
import { withdrawnAt } from "../../domain/grant/index.ts"
import { isJwt } from "../../protocol/jwt.ts"
import type { Cx } from "../../store/index.ts"
import { isActive } from "./active.ts"
import { checkedToken, type TokenEnd } from "./bearer.ts"
import { readJwt } from "./claims/kind.ts"
import { projectsAsAudience } from "./scope.ts"
import type { Statement } from "./statement.ts"
import { tokenParentOf } from "./token-parent.ts"

/** RFC 8693 §3: the types of tokens that we make and take. */
export const tokenTypes = {
  accessToken: "urn:ietf:params:oauth:token-type:access_token",
  jwt: "urn:ietf:params:oauth:token-type:jwt",
  idToken: "urn:ietf:params:oauth:token-type:id_token",
} as const

/** What a token says that was shown to speak for somebody; an id_token has no id to revoke. */
export type SubjectToken = Omit<Statement, "id" | "issued"> & { readonly id?: string }

/**
 * Reads a token of a type that a request names, or says why it is worth nothing: it is none of
 * ours, or something that it hangs from does not stand any more.
 */
export function subjectTokenIn(cx: Cx, token: string, type: string): SubjectToken | TokenEnd {
  if (type === tokenTypes.accessToken) return checkedToken(cx, token)
  if (type === tokenTypes.jwt) {
    return isJwt(token) ? checkedToken(cx, token) : "token.not_ours"
  }
  return type === tokenTypes.idToken ? identified(cx, token) : "token.not_ours"
}

/**
 * An id_token is worth what its sign-in is worth; without one it can't be exchanged. It names no
 * scopes, so that there are none but openid.
 */
function identified(cx: Cx, token: string): SubjectToken | TokenEnd {
  const { claims } = readJwt(cx, token, { kind: "id_token" }) ?? {}
  if (!claims) return "token.not_ours"
  const { sub: userId, azp: clientId, sid, aud, exp, iat } = claims
  if (typeof userId !== "string" || typeof clientId !== "string" || typeof sid !== "string") {
    return "token.not_ours"
  }
  const client = findClient(cx, clientId)
  const grantId = tokenParentOf("session", `${sid}/${client?.appId ?? ""}`)
  if (!isActive(cx, { grantId, userId })) return "token.ended"
  // It hangs from the sign-in, which goes on when its user takes the access from the client.
  if (Number(iat) * 1000 <= withdrawnAt(cx, userId, client?.appId ?? "")) return "token.ended"
  const named = Array.isArray(aud) ? aud.map(String) : [String(aud)]
  // The project of a sign-in is named by its access token, and by its id_token only where it says.
  const isAlone = client && named.length === 1 && named[0] === clientId
  const audience = isAlone ? [clientId, ...projectsAsAudience(cx, [client.state.projectId])] : named
  return { grantId, userId, clientId, audience, scopes: ["openid"], expires: Number(exp) }
}
