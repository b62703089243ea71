import type { Caller } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import type { Cx } from "../store/index.ts"
import type { ProofRequest } from "./client/proof.ts"
import { OAuthError } from "./error.ts"
import { issuerOf } from "./issuer.ts"
import { type PresentedToken, parseAuthorization, verifyPresented } from "./token/presented.ts"
import { freshTimeOfToken, orgOf, sessionIdOfToken } from "./token/token-parent.ts"

/**
 * Authenticates a call of the management API with an access token. The token's audience must
 * contain the project of the console, which the scope for it adds. `use` is the request without the
 * token.
 */
export async function authenticateApiCaller(cx: Cx, use: ProofRequest): Promise<Caller> {
  const presented = parseAuthorization(use.headers.get("authorization"))
  if (!presented) {
    throw new Fault(
      "unauthenticated",
      "auth.scheme",
      "send the access token as Authorization: Bearer <token>",
    )
  }
  const claims = await requireClaims(cx, presented, use)
  if (typeof claims === "string") {
    throw new Fault(
      "unauthenticated",
      "token.invalid",
      "the access token is invalid or has expired; request a new one",
    )
  }
  if (!claims.audience.includes(issuerOf(cx).projectId)) {
    throw new Fault(
      "unauthenticated",
      "token.audience",
      "the access token is not valid for this API; request it with the scope " +
        "urn:core:iam:org:project:id:core:aud",
    )
  }
  // Administrators must act themselves.
  if (claims.actor) {
    throw new Fault(
      "unauthenticated",
      "token.impersonated",
      "this API rejects tokens of impersonated users; use a token of your own",
    )
  }
  const { userId, clientId, grantId } = claims
  return {
    kind: "user",
    userId,
    orgId: orgOf(cx, userId),
    clientId,
    // A getter, because few operations need it.
    get authTime() {
      return freshTimeOfToken(cx, userId, { anchor: grantId, clientId })
    },
    get sessionId() {
      return sessionIdOfToken(cx, grantId)
    },
  }
}

/** An invalid or missing proof is reported like other authentication failures. */
async function requireClaims(cx: Cx, presented: PresentedToken, use: ProofRequest) {
  try {
    return await verifyPresented(cx, presented, use)
  } catch (cause) {
    if (!(cause instanceof OAuthError)) throw cause
    throw new Fault("unauthenticated", "token.proof", cause.description, { cause })
  }
}
