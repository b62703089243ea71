import { pushedLifetimeSeconds } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import { validateRedirect } from "../authorize/client.ts"
import { storePushedRequest } from "../authorize/pushed.ts"
import { effectiveParametersOf } from "../authorize/request/effective-parameters.ts"
import { parseRequest } from "../authorize/request/parse.ts"
import { validateRequestOrigin } from "../authorize/request/request-rules.ts"
import { authenticateClient, requireApplication } from "../client/authentication.ts"
import { verifyProof } from "../client/proof.ts"
import { OAuthError } from "../error.ts"
import { paths } from "../issuer.ts"
import { parseParameters } from "../parameters.ts"
import { loadMetadataDocument } from "../registration/metadata-document.ts"
import { json } from "../response.ts"
import type { Endpoint, EndpointContext } from "./endpoint.ts"

/** RFC 9126 §2: a client pushes its request; validates everything that authorize validates. */
export const par: Endpoint = {
  methods: ["POST"],
  anyOrigin: true,
  handle: async (context) => {
    const { cx, request } = context
    const form = await context.form()
    const parameters = parseParameters(form)
    // §2.1: a pushed request must not refer to another one.
    if (parameters.has("request_uri")) {
      throw new OAuthError("invalid_request", "request_uri must not be pushed")
    }
    const authorization = request.headers.get("authorization")
    await loadMetadataDocument(cx, parameters.get("client_id") ?? "")
    const client = await authenticateClient(cx, { parameters, authorization })
    const { clientId } = requireApplication(client)
    const { search } = await effectiveParametersOf(cx, withoutCredentials(form, clientId))
    await bindToKey(context, search)
    validatePushed(cx, search, parameters.has("request"))
    const request_uri = await storePushedRequest(cx, clientId, search)
    return json({ request_uri, expires_in: pushedLifetimeSeconds }, { status: 201 })
  },
}

/** Client credentials are for this endpoint only and are not stored. */
function withoutCredentials(form: URLSearchParams, clientId: string): URLSearchParams {
  const remaining = new URLSearchParams(form)
  for (const name of ["client_secret", "client_assertion", "client_assertion_type"]) {
    remaining.delete(name)
  }
  remaining.set("client_id", clientId)
  return remaining
}

/** RFC 9449 §10.1: a DPoP proof in the request binds the code to its key, like dpop_jkt. */
async function bindToKey({ cx, request }: EndpointContext, search: URLSearchParams): Promise<void> {
  const { headers } = request
  const proof = await verifyProof(cx, { headers, method: "POST", path: paths.par })
  if (!proof) return
  const boundKey = search.get("dpop_jkt") ?? proof.jkt
  if (boundKey !== proof.jkt) {
    throw new OAuthError("invalid_dpop_proof", "dpop_jkt does not match the key of the DPoP proof")
  }
  search.set("dpop_jkt", proof.jkt)
}

const searchMax = 16_384

/** §2.1: rejects now what would be rejected in the browser. */
function validatePushed(cx: Cx, search: URLSearchParams, isSigned: boolean): void {
  if (search.toString().length > searchMax) {
    throw new OAuthError("invalid_request", "the request is too long", { status: 413 })
  }
  const validated = validateRedirect(cx, search)
  if (!("problem" in validated)) {
    validateRequestOrigin(validated.app, { isPushed: true, isSigned })
    parseRequest(cx, validated, search)
    return
  }
  const { problem, finding } = validated
  if (problem === "unknown_application") {
    throw new OAuthError("unauthorized_client", "this client can't sign in users", { finding })
  }
  const unregistered = "redirect_uri is not registered for this client"
  throw new OAuthError("invalid_request", validated.detail ?? unregistered, { finding })
}
