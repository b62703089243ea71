import type { Caller } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import type { Cx } from "../store/index.ts"
import type { Use } from "./client/proof.ts"
import { OAuthError } from "./error.ts"
import { issuerOf } from "./issuer.ts"
import { checkPresented, type Presented, presentedIn } from "./token/presented.ts"
import { freshTimeOfToken, orgOf, sessionIdOfToken } from "./token/token-parent.ts"

/**
 * Who calls the management interface with an access token. It must be meant for that: our own
 * project stands in its audience when the scope for that was asked for. `use` is without a token.
 */
export async function apiCaller(cx: Cx, use: Use): Promise<Caller> {
  const presented = presentedIn(use.headers.get("authorization"))
  if (!presented) {
    throw new Fault(
      "unauthenticated",
      "auth.scheme",
      "send the access token as Authorization: Bearer <token>",
    )
  }
  const claims = await claimsOrFault(cx, presented, use)
  if (typeof claims === "string") {
    throw new Fault(
      "unauthenticated",
      "token.invalid",
      "the access token is not valid (any more); get a new one",
    )
  }
  if (!claims.audience.includes(issuerOf(cx).projectId)) {
    throw new Fault(
      "unauthenticated",
      "token.audience",
      "the access token is not meant for this interface; ask for the scope " +
        "urn:core:iam:org:project:id:core:aud with it",
    )
  }
  // What an administrator does must be their own doing.
  if (claims.actor) {
    throw new Fault(
      "unauthenticated",
      "token.impersonated",
      "this interface is closed to whoever acts for somebody else; use a token of your own",
    )
  }
  const { userId, clientId, grantId } = claims
  return {
    kind: "user",
    userId,
    orgId: orgOf(cx, userId),
    clientId,
    // Few operations ask for it.
    get authTime() {
      return freshTimeOfToken(cx, userId, { anchor: grantId, clientId })
    },
    get sessionId() {
      return sessionIdOfToken(cx, grantId)
    },
  }
}

/** A proof that is wrong or missing is told as every other reason not to be let in. */
async function claimsOrFault(cx: Cx, presented: Presented, use: Use) {
  try {
    return await checkPresented(cx, presented, use)
  } catch (cause) {
    if (!(cause instanceof OAuthError)) throw cause
    throw new Fault("unauthenticated", "token.proof", cause.description, { cause })
  }
}
