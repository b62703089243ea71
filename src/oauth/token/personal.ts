import { parsePersonalToken } from "../../domain/service-account/index.ts"
import type { Cx } from "../../store/index.ts"
import { audienceOf } from "./scope.ts"
import { tokenParentOf } from "./token-parent.ts"

/**
 * The claims of a personal access token. The token contains only its user and its ID; the rest is
 * in the user's state.
 */
export function findPersonalStatement(cx: Cx, token: string) {
  const parsed = parsePersonalToken(cx, token)
  if (!parsed) return undefined
  const { id, userId, scopes, created, expires } = parsed
  return {
    id,
    grantId: tokenParentOf("pat", id),
    userId,
    clientId: userId,
    audience: audienceOf(cx, scopes),
    scopes,
    issued: Math.floor(created / 1000),
    expires: Math.floor(expires / 1000),
  }
}
