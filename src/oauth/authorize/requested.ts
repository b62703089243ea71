import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"

/**
 * The parameters of an authorization request that count: those of the address, or those that a
 * request object or a pushed request brings instead.
 */
export async function requestedBy(_cx: Cx, search: URLSearchParams): Promise<URLSearchParams> {
  // OpenID Connect Core §3.1.2.6 has an error of its own for each of these.
  if (search.has("request")) {
    throw new OAuthError("request_not_supported", "request objects are not supported")
  }
  if (search.has("request_uri")) {
    throw new OAuthError("request_uri_not_supported", "request_uri is not supported")
  }
  return search
}
