import type { Caller } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import type { Cx } from "../store/index.ts"
import { ownOf } from "./own.ts"
import { validToken } from "./token/bearer.ts"
import { orgOf } from "./token/chain.ts"

/**
 * Who calls the management interface with a bearer token. The token must be meant for it: our own
 * project stands in its audience when the scope for that was asked for.
 */
export function apiCaller(cx: Cx, bearer: string): Caller {
  const said = validToken(cx, bearer)
  if (!said) {
    throw new Fault(
      "unauthenticated",
      "token.invalid",
      "the access token is not valid (any more); get a new one",
    )
  }
  if (!said.audience.includes(ownOf(cx).projectId)) {
    throw new Fault(
      "unauthenticated",
      "token.audience",
      "the access token is not meant for this interface; ask for the scope " +
        "urn:core:iam:org:project:id:core:aud with it",
    )
  }
  const { userId, clientId } = said
  return { kind: "user", userId, orgId: orgOf(cx, userId), clientId }
}
