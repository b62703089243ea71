import { readPersonalToken } from "../../domain/service-account/index.ts"
import type { Cx } from "../../store/index.ts"
import { audienceOf } from "./scope.ts"
import { tokenParentOf } from "./token-parent.ts"

/**
 * What a personal access token says. The token itself only names its user and itself: the rest
 * stands in the user's state.
 */
export function personalStatement(cx: Cx, token: string) {
  const known = readPersonalToken(cx, token)
  if (!known) return undefined
  const { id, userId, scopes, created, expires } = known
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
