import { Fault } from "../kernel/fault.ts"
import { type ShowPage, showFault, showTrouble } from "../login/index.ts"
import type { Cx } from "../store/index.ts"
import { authorize } from "./endpoint/authorize.ts"
import { callback } from "./endpoint/callback.ts"
import { discovery } from "./endpoint/discovery.ts"
import { endSession } from "./endpoint/end-session.ts"
import type { Asking, Endpoint } from "./endpoint/endpoint.ts"
import { keys } from "./endpoint/keys.ts"
import { token } from "./endpoint/token.ts"
import { userinfo } from "./endpoint/userinfo.ts"
import { OAuthError } from "./error.ts"
import { paths } from "./own.ts"
import { errorJson, methodNotAllowed, preflight } from "./response.ts"

const endpoints: ReadonlyMap<string, Endpoint> = new Map([
  [paths.discovery, discovery],
  [paths.keys, keys],
  [paths.authorize, authorize],
  [paths.callback, callback],
  [paths.token, token],
  [paths.userinfo, userinfo],
  [paths.endSession, endSession],
  [paths.endSessionAlias, endSession],
])

export type OAuthParts = { readonly show: ShowPage }

/** Serves the protocol endpoints; undefined for paths that aren't theirs. */
export const oauthHandler =
  ({ show }: OAuthParts) =>
  async (request: Request, cx: Cx, url: URL): Promise<Response | undefined> => {
    const endpoint = endpoints.get(url.pathname)
    if (!endpoint) return undefined
    const method = request.method === "HEAD" ? "GET" : request.method
    if (method === "OPTIONS" && endpoint.anyOrigin) return preflight(endpoint.methods)
    if (!endpoint.methods.some((known) => known === method)) {
      return methodNotAllowed(endpoint.methods)
    }
    return answerOf(endpoint, { cx, request, url, show })
  }

/** Expected failures are told to programs as JSON, and to people on a page. */
async function answerOf(endpoint: Endpoint, asking: Asking): Promise<Response> {
  const { cx, show } = asking
  try {
    return await endpoint.answer(asking)
  } catch (cause) {
    if (cause instanceof Fault) {
      return endpoint.anyOrigin ? errorJson(errorOf(cause)) : showFault(show, cx, cause)
    }
    if (!(cause instanceof OAuthError)) throw cause
    if (endpoint.anyOrigin) return errorJson(cause)
    const detail = `${cause.description}.`
    return showTrouble(show, cx, { problem: "invalid_request", detail })
  }
}

/** What a fault of a room means to a client of the protocol: that it may come again, or not. */
function errorOf({ code, message }: Fault): OAuthError {
  const passing = code === "aborted" || code === "unavailable" || code === "resource_exhausted"
  return passing
    ? new OAuthError("temporarily_unavailable", message, 503)
    : new OAuthError("server_error", message, 500)
}
