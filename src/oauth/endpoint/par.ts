import { pushedLifetimeSeconds } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import { returnPathOf } from "../authorize/client.ts"
import { keepPushed } from "../authorize/pushed.ts"
import { parseRequest } from "../authorize/request/parse.ts"
import { checkWay } from "../authorize/request/request-rules.ts"
import { requestedBy } from "../authorize/request/requested.ts"
import { applicationOf, authenticateClient } from "../client/authentication.ts"
import { proofOf } from "../client/proof.ts"
import { OAuthError } from "../error.ts"
import { paths } from "../issuer.ts"
import { knowDocument } from "../registration/document.ts"
import { parametersOf } from "../request.ts"
import { json } from "../response.ts"
import type { Asking, Endpoint } from "./endpoint.ts"

/** RFC 9126 §2: a client sends its request ahead; all is checked that authorize checks. */
export const par: Endpoint = {
  methods: ["POST"],
  anyOrigin: true,
  answer: async (asking) => {
    const { cx, request } = asking
    const form = await asking.form()
    const parameters = parametersOf(form)
    // §2.1: what is pushed says all itself.
    if (parameters.has("request_uri")) {
      throw new OAuthError("invalid_request", "request_uri must not be pushed")
    }
    const authorization = request.headers.get("authorization")
    await knowDocument(cx, parameters.get("client_id") ?? "")
    const client = await authenticateClient(cx, { parameters, authorization })
    const { clientId } = applicationOf(client)
    const { search } = await requestedBy(cx, withoutCredentials(form, clientId))
    await bindToKey(asking, search)
    check(cx, search, parameters.has("request"))
    const request_uri = await keepPushed(cx, clientId, search)
    return json({ request_uri, expires_in: pushedLifetimeSeconds }, { status: 201 })
  },
}

/** What was for this endpoint alone is kept nowhere. */
function withoutCredentials(form: URLSearchParams, clientId: string): URLSearchParams {
  const kept = new URLSearchParams(form)
  for (const name of ["client_secret", "client_assertion", "client_assertion_type"]) {
    kept.delete(name)
  }
  kept.set("client_id", clientId)
  return kept
}

/** RFC 9449 §10.1: a proof that comes along binds the code to its key, as dpop_jkt does. */
async function bindToKey({ cx, request }: Asking, search: URLSearchParams): Promise<void> {
  const { headers } = request
  const proof = await proofOf(cx, { headers, method: "POST", path: paths.par })
  if (!proof) return
  const named = search.get("dpop_jkt") ?? proof.jkt
  if (named !== proof.jkt) {
    throw new OAuthError("invalid_dpop_proof", "dpop_jkt names another key than the proof")
  }
  search.set("dpop_jkt", proof.jkt)
}

const searchMax = 16_384

/** §2.1: refuses now what would be refused when the browser comes. */
function check(cx: Cx, search: URLSearchParams, isSigned: boolean): void {
  if (search.toString().length > searchMax) {
    throw new OAuthError("invalid_request", "the request is too long", { status: 413 })
  }
  const back = returnPathOf(cx, search)
  if (!("problem" in back)) {
    checkWay(back.app, { isPushed: true, isSigned })
    parseRequest(cx, back, search)
    return
  }
  const { problem, finding } = back
  if (problem === "unknown_application") {
    throw new OAuthError("unauthorized_client", "this client can't sign anybody in", { finding })
  }
  const unregistered = "redirect_uri is not one that the client registered"
  throw new OAuthError("invalid_request", back.detail ?? unregistered, { finding })
}
