import { noteUse } from "../../domain/app/index.ts"
import { grant as tokenGrant } from "../../domain/grant/index.ts"
import { about } from "../../domain/refusal/index.ts"
import { isSelfCheck } from "../../kernel/self-check.ts"
import type { Cx } from "../../store/index.ts"
import { authenticateClient, bringsProof } from "../client/authentication.ts"
import { type Proof, proofOf } from "../client/proof.ts"
import { OAuthError } from "../error.ts"
import type { Grant } from "../grant/grant.ts"
import { grants } from "../grant/list.ts"
import { type Parameters, parametersOf, required, valueFinding } from "../request.ts"
import { json } from "../response.ts"
import type { Narrow } from "../token/audience.ts"
import { noteOwnTokens } from "../token/audit.ts"
import { type Issuance, issue } from "../token/issue.ts"
import { narrowing } from "../token/resource.ts"
import type { Asking, Endpoint } from "./endpoint.ts"

/** RFC 6749 §3.2. The phases are the same for every grant, and none can leave one out. */
export const token: Endpoint = {
  methods: ["POST"],
  anyOrigin: true,
  answer: async (asking) => {
    const { cx, request, url, form } = asking
    const parameters = parametersOf(await form())
    const grant = grantOf(parameters)
    const proof = await proofOf(cx, {
      headers: request.headers,
      method: "POST",
      path: url.pathname,
    })
    const narrow = narrowing(cx, parameters)
    const allowed = await allow(asking, grant, { parameters, proof, narrow })
    const answer = await issue(cx, { ...allowed, jkt: proof?.jkt }, narrow)
    if (grant.name === "authorization_code") await refuseEnded(cx, allowed)
    await noteUse(cx, allowed.clientId)
    await noteOwnTokens(cx, grant.name, allowed, answer)
    // What a self-check gets is no sign-in of anybody.
    if (!isSelfCheck(cx.requestId)) asking.issued?.(grant.name)
    return json(answer)
  },
}

/** RFC 6749 §4.1.2: a second use meanwhile, at any process, has revoked the tokens. */
async function refuseEnded(cx: Cx, { grantId }: Issuance): Promise<void> {
  cx.store.worker?.renew()
  await cx.store.node?.caughtUp()
  if (grantId === undefined || cx.store.state(cx, tokenGrant, grantId).status !== "ended") return
  throw new OAuthError("invalid_grant", "the code was used again meanwhile", {
    finding: about("code", "code.used"),
  })
}

function grantOf(parameters: Parameters): Grant {
  const name = required(parameters, "grant_type")
  const grant = grants.find((known) => known.name === name)
  if (grant) return grant
  const known = grants.map((each) => each.name)
  throw new OAuthError("unsupported_grant_type", "grant_type is not one that discovery names", {
    finding: valueFinding("grant_type", name, known),
  })
}

type Requested = {
  readonly parameters: Parameters
  readonly proof: Proof | undefined
  readonly narrow: Narrow
}

async function allow({ cx, request }: Asking, grant: Grant, asked: Requested): Promise<Issuance> {
  const authorization = request.headers.get("authorization")
  const credentials = { parameters: asked.parameters, authorization }
  if (grant.client === "none") {
    // RFC 7523 §3.1: what nobody asked for must be right, too, where it is there.
    if (bringsProof(credentials)) await authenticateClient(cx, credentials)
    return grant.allow(cx, asked)
  }
  const client = await authenticateClient(cx, credentials)
  return grant.allow(cx, { ...asked, client })
}
