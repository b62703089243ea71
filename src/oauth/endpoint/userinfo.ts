import { findClient } from "../../domain/app/index.ts"
import { recordClaimsRead } from "../../domain/grant/index.ts"
import { findingWithoutValue } from "../../domain/refusal/index.ts"
import { isForm } from "../../protocol/body.ts"
import type { Cx } from "../../store/index.ts"
import { challengeResponse, missingTokenResponse } from "../challenge.ts"
import { OAuthError } from "../error.ts"
import { parseParameters } from "../parameters.ts"
import { recordRejectedRequest } from "../rejected-request.ts"
import { json } from "../response.ts"
import { userinfoClaims } from "../token/claims/claims.ts"
import { findRequestedClaims } from "../token/claims/requested-claims.ts"
import { withScriptClaims } from "../token/claims/script-claims.ts"
import { type PresentedToken, parseAuthorization, verifyPresented } from "../token/presented.ts"
import { readToken, type Statement } from "../token/statement.ts"
import type { Endpoint, EndpointContext } from "./endpoint.ts"

/** OpenID Connect Core §5.3. */
export const userinfo: Endpoint = {
  methods: ["GET", "POST"],
  anyOrigin: true,
  handle: async (context) => {
    const inHeader = parseAuthorization(context.request.headers.get("authorization"))
    try {
      const presented = await findPresentedToken(context, inHeader)
      if (presented === undefined) return missingTokenResponse(realm)
      const { cx } = context
      const statement = await requireValidToken(context, presented)
      const claims = await claimsFor(cx, statement)
      const appId = findClient(cx, statement.clientId)?.appId
      if (appId !== undefined) await recordClaimsRead(cx, statement.userId, appId)
      return json(claims)
    } catch (cause) {
      if (!(cause instanceof OAuthError)) throw cause
      await recordRejectedRequest(context, cause)
      const scheme = inHeader?.scheme ?? "bearer"
      return challengeResponse(context.cx, { scheme, realm, scope: "openid" }, cause)
    }
  },
}

/**
 * The claims of the token. Findings about an invalid one are only for the client that it was issued
 * to.
 */
async function requireValidToken(
  { cx, request, url }: EndpointContext,
  presented: PresentedToken,
): Promise<Statement> {
  const { headers, method } = request
  const found = await verifyPresented(cx, presented, { headers, method, path: url.pathname })
  if (typeof found !== "string") return found
  throw new OAuthError("invalid_token", "the access token is invalid or has expired", {
    status: 401,
    finding: findingWithoutValue("access token", found),
    visibleTo: readToken(cx, presented.token)?.clientId,
  })
}

function claimsFor(cx: Cx, claims: Statement): object | Promise<object> {
  if (!claims.scopes.includes("openid")) {
    throw new OAuthError("insufficient_scope", "the access token does not have the scope openid", {
      status: 403,
    })
  }
  const requested = findRequestedClaims(cx, claims.grantId)?.userinfo
  const { userId, clientId, scopes, actor } = claims
  const userClaims = userinfoClaims(cx, { ...claims, requested })
  return withScriptClaims(cx, {
    triggerType: 4,
    userId,
    clientId,
    scopes,
    actor,
    claims: userClaims,
  })
}

/** RFC 6750 §2: a token must be in the header or in the form, not in both. */
async function findPresentedToken(
  context: EndpointContext,
  inHeader: PresentedToken | undefined,
): Promise<PresentedToken | undefined> {
  // Most requests use GET, without a form to wait for. OpenID Connect Core §5.3.1: with a token in
  // the header, a body of another type is ignored.
  const mayPost = context.request.method === "POST" && (!inHeader || isForm(context.request))
  const token = mayPost ? await findPostedToken(context) : undefined
  if (inHeader && token !== undefined) {
    throw new OAuthError(
      "invalid_request",
      "the access token must not be in both the header and the form",
    )
  }
  return inHeader ?? (token === undefined ? undefined : { scheme: "bearer", token })
}

/** RFC 6750 §2.2. */
async function findPostedToken({ request, form }: EndpointContext): Promise<string | undefined> {
  if (!request.headers.has("content-type")) return undefined
  return parseParameters(await form()).get("access_token")
}

const realm = "userinfo"
