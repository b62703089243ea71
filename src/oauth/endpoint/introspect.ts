import { findAppDenial } from "../../domain/app-access/index.ts"
import { recordClaimsRead } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import {
  type AuthenticatedApp,
  authenticateClient,
  introspectionMethods,
} from "../client/authentication.ts"
import { issuerOf } from "../issuer.ts"
import { parseParameters, requireParameter } from "../parameters.ts"
import { json } from "../response.ts"
import { findValidToken } from "../token/bearer.ts"
import { introspectionClaims } from "../token/claims/claims.ts"
import { withScriptClaims } from "../token/claims/script-claims.ts"
import { projectsAsAudience } from "../token/scope.ts"
import { jtiOf, notBefore, type Statement } from "../token/statement.ts"
import { tokenProofExpiry } from "../token/token-parent.ts"
import type { Endpoint } from "./endpoint.ts"

/**
 * RFC 7662 §2, for access tokens only: an application that verifies a presented token would mistake
 * a refresh token for one.
 */
export const introspect: Endpoint = {
  methods: ["POST"],
  anyOrigin: true,
  handle: async ({ cx, request, form }) => {
    const parameters = parseParameters(await form())
    const authorization = request.headers.get("authorization")
    const credentials = { parameters, authorization }
    const client = await authenticateClient(cx, credentials, introspectionMethods)
    const claims = findValidToken(cx, requireParameter(parameters, "token"))
    // RFC 7662 §2.2: clients outside the audience learn nothing about a token, not even that it
    // exists.
    if (!claims || client.kind !== "application" || !isInAudience(cx, client, claims)) {
      return json({ active: false })
    }
    // A resource server also accepts only users who can use it, whichever client the token was
    // issued to.
    if (!isValidForApp(cx, client, claims)) return json({ active: false })
    const answer = await activeResponse(cx, claims, client)
    const isOwn = claims.clientId === client.clientId
    if (isOwn) await recordClaimsRead(cx, claims.userId, client.appId)
    return json(answer)
  },
}

/**
 * Whether the application is in the audience, by its client ID or its project. Project IDs can be
 * chosen: one that is also a client ID represents that client.
 */
function isInAudience(cx: Cx, client: AuthenticatedApp, { audience }: Statement): boolean {
  if (audience.includes(client.clientId)) return true
  const { projectId } = client.state
  return audience.includes(projectId) && projectsAsAudience(cx, [projectId]).length > 0
}

/** Whether the user of a token can use the application, and signed in as it requires. */
function isValidForApp(
  cx: Cx,
  { appId }: AuthenticatedApp,
  { userId, grantId }: Statement,
): boolean {
  if (findAppDenial(cx, userId, appId) !== undefined) return false
  return cx.clock.now() < tokenProofExpiry(cx, appId, { userId, anchor: grantId })
}

/** RFC 7662 §2.2, with RFC 8693 §4.1 and RFC 9449 §6.2. */
async function activeResponse(
  cx: Cx,
  claims: Statement,
  { state }: AuthenticatedApp,
): Promise<object> {
  const { userId, clientId, scopes, actor } = claims
  const userClaims = introspectionClaims(cx, claims, state.projectId, state)
  const scriptInput = {
    triggerType: 4,
    userId,
    clientId,
    scopes,
    actor,
    claims: userClaims,
    projectId: state.projectId,
    application: state,
  } as const
  return {
    ...(await withScriptClaims(cx, scriptInput)),
    active: true,
    scope: claims.scopes.join(" "),
    client_id: clientId,
    token_type: claims.jkt === undefined ? "Bearer" : "DPoP",
    exp: claims.expires,
    iat: claims.issued,
    nbf: notBefore(claims),
    sub: userId,
    aud: claims.audience,
    iss: issuerOf(cx).issuer,
    jti: jtiOf(claims),
    ...(claims.jkt !== undefined && { cnf: { jkt: claims.jkt } }),
    ...(actor !== undefined && { act: actor }),
  }
}
