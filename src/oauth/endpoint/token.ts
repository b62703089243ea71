import { recordUse } from "../../domain/app/index.ts"
import { grant as tokenGrant } from "../../domain/grant/index.ts"
import { findingWithoutValue } from "../../domain/refusal/index.ts"
import { isSelfCheck } from "../../kernel/self-check.ts"
import type { Cx } from "../../store/index.ts"
import { authenticateClient, hasCredentials } from "../client/authentication.ts"
import { type DpopProof, verifyProof } from "../client/proof.ts"
import { OAuthError } from "../error.ts"
import type { Grant } from "../grant/grant.ts"
import { grants } from "../grant/list.ts"
import { type Parameters, parseParameters, requireParameter, valueFinding } from "../parameters.ts"
import { json } from "../response.ts"
import type { Narrow } from "../token/audience.ts"
import { recordOwnTokens } from "../token/audit.ts"
import { type Issuance, issueTokens } from "../token/issue.ts"
import { narrowing } from "../token/resource.ts"
import type { Endpoint, EndpointContext } from "./endpoint.ts"

/** RFC 6749 §3.2. All grants share these phases, so that none can omit one. */
export const token: Endpoint = {
  methods: ["POST"],
  anyOrigin: true,
  handle: async (context) => {
    const { cx, request, url, form } = context
    const parameters = parseParameters(await form())
    const grant = parseGrantType(parameters)
    const proof = await verifyProof(cx, {
      headers: request.headers,
      method: "POST",
      path: url.pathname,
    })
    const narrow = narrowing(cx, parameters)
    const allowed = await issueFromGrant(context, grant, { parameters, proof, narrow })
    const answer = await issueTokens(cx, { ...allowed, jkt: proof?.jkt }, narrow)
    if (grant.name === "authorization_code") await rejectEndedGrant(cx, allowed)
    await recordUse(cx, allowed.clientId)
    await recordOwnTokens(cx, grant.name, allowed, answer)
    // Tokens of a self-check are no sign-in.
    if (!isSelfCheck(cx.requestId)) context.onIssued?.(grant.name)
    return json(answer)
  },
}

/** RFC 6749 §4.1.2: a concurrent second use, in any process, has revoked the tokens. */
async function rejectEndedGrant(cx: Cx, { grantId }: Issuance): Promise<void> {
  cx.store.worker?.renew()
  await cx.store.node?.caughtUp()
  if (grantId === undefined || cx.store.state(cx, tokenGrant, grantId).status !== "ended") return
  throw new OAuthError("invalid_grant", "the code was used again meanwhile", {
    finding: findingWithoutValue("code", "code.used"),
  })
}

function parseGrantType(parameters: Parameters): Grant {
  const name = requireParameter(parameters, "grant_type")
  const grant = grants.find((supported) => supported.name === name)
  if (grant) return grant
  const supported = grants.map((each) => each.name)
  throw new OAuthError(
    "unsupported_grant_type",
    "grant_type is not supported; see grant_types_supported in the discovery document",
    {
      finding: valueFinding("grant_type", name, supported),
    },
  )
}

type TokenRequest = {
  readonly parameters: Parameters
  readonly proof: DpopProof | undefined
  readonly narrow: Narrow
}

async function issueFromGrant(
  { cx, request }: EndpointContext,
  grant: Grant,
  tokenRequest: TokenRequest,
): Promise<Issuance> {
  const authorization = request.headers.get("authorization")
  const credentials = { parameters: tokenRequest.parameters, authorization }
  if (grant.client === "none") {
    // RFC 7523 §3.1: optional client authentication must be valid if present.
    if (hasCredentials(credentials)) await authenticateClient(cx, credentials)
    return grant.allow(cx, tokenRequest)
  }
  const client = await authenticateClient(cx, credentials)
  return grant.allow(cx, { ...tokenRequest, client })
}
