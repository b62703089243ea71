import type { PushedReference } from "../../../domain/grant/index.ts"
import type { Cx } from "../../../store/index.ts"
import { OAuthError } from "../../error.ts"
import { parseParameters, requireParameter } from "../../parameters.ts"
import { openPushedRequest } from "../pushed.ts"
import { parseRequestObject } from "./request-object.ts"

export type EffectiveParameters = {
  readonly search: URLSearchParams
  /** The pushed request that contains the parameters. */
  readonly pushed?: PushedReference
  /** The administrator who tests the application with it. */
  readonly testedBy?: string
}

/**
 * The effective parameters of an authorization request: those of the URL, or only those of a pushed
 * request or request object (RFC 9126 §4, RFC 9101 §6.3).
 */
export async function effectiveParametersOf(
  cx: Cx,
  search: URLSearchParams,
): Promise<EffectiveParameters> {
  // Errors in plain parameters are reported after the redirect URI is validated.
  if (!search.get("request") && !search.get("request_uri")) return { search }
  const parameters = parseParameters(search)
  const object = parameters.get("request")
  const uri = parameters.get("request_uri")
  if (uri === undefined) {
    return { search: await parseRequestObject(cx, object ?? "", parameters) }
  }
  // RFC 9101 §5: either one or the other.
  if (object !== undefined) {
    throw new OAuthError("invalid_request", "request and request_uri can't be combined")
  }
  const opened = await openPushedRequest(cx, uri, requireParameter(parameters, "client_id"))
  return { ...opened, search: new URLSearchParams(opened.search) }
}
