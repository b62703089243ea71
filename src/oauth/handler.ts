import type { Fault } from "../kernel/fault.ts"
import { showFault, showTrouble } from "../login/index.ts"
import type { Cx } from "../store/index.ts"
import { authorize } from "./endpoint/authorize.ts"
import { callback } from "./endpoint/callback.ts"
import { device } from "./endpoint/device.ts"
import { deviceAuthorization } from "./endpoint/device-authorization.ts"
import { endSession } from "./endpoint/end-session.ts"
import type { Asking, Endpoint } from "./endpoint/endpoint.ts"
import { introspect } from "./endpoint/introspect.ts"
import { discovery } from "./endpoint/metadata/discovery.ts"
import { keys } from "./endpoint/metadata/keys.ts"
import { protectedResource } from "./endpoint/metadata/protected-resource.ts"
import { serverMetadata } from "./endpoint/metadata/server-metadata.ts"
import { par } from "./endpoint/par.ts"
import { register } from "./endpoint/register.ts"
import { revoke } from "./endpoint/revoke.ts"
import { token } from "./endpoint/token.ts"
import { userinfo } from "./endpoint/userinfo.ts"
import { errorOf, OAuthError } from "./error.ts"
import { forwardAuth } from "./forward/endpoint.ts"
import { forwardRefused } from "./forward/refused.ts"
import { paths } from "./issuer.ts"
import { recordRefusal } from "./refusal.ts"
import { formOf } from "./request.ts"
import { errorJson, methodNotAllowed, preflight } from "./response.ts"

const endpoints: ReadonlyMap<string, Endpoint> = new Map([
  [paths.discovery, discovery],
  [paths.serverMetadata, serverMetadata],
  [paths.protectedResource, protectedResource],
  [paths.keys, keys],
  [paths.authorize, authorize],
  [paths.callback, callback],
  [paths.par, par],
  [paths.registration, register],
  [paths.token, token],
  [paths.deviceAuthorization, deviceAuthorization],
  [paths.device, device],
  [paths.introspection, introspect],
  [paths.revocation, revoke],
  [paths.userinfo, userinfo],
  [paths.forwardRefused, forwardRefused],
  [paths.endSession, endSession],
  [paths.endSessionAlias, endSession],
])

/** What proxies ask has a host and an application in its path. */
const endpointAt = (path: string): Endpoint | undefined =>
  endpoints.get(path) ?? (path.startsWith(paths.forwardAuth) ? forwardAuth : undefined)

export type OAuthParts = Pick<Asking, "show" | "refused" | "issued">

/** Serves the protocol endpoints; undefined for paths that aren't theirs. */
export const oauthHandler =
  (parts: OAuthParts) =>
  async (request: Request, cx: Cx, url: URL): Promise<Response | undefined> => {
    const endpoint = endpointAt(url.pathname)
    if (!endpoint || endpoint.exists?.(cx) === false) return undefined
    const method = request.method === "HEAD" ? "GET" : request.method
    if (method === "OPTIONS" && endpoint.anyOrigin) {
      return preflight(endpoint.methods, request.headers.get("access-control-request-headers"))
    }
    if (!endpoint.methods.some((known) => known === method)) {
      return methodNotAllowed(endpoint.methods)
    }
    const form = once(() => formOf(request, endpoint.formMax))
    return answerOf(endpoint, { ...parts, cx, request, url, form })
  }

/** A body can be read once; whoever records a refusal wants to know what it said, too. */
function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () => {
    reading ??= read()
    return reading
  }
}

/** Expected failures are told to programs as JSON, and to people on a page. */
async function answerOf(endpoint: Endpoint, asking: Asking): Promise<Response> {
  const { cx, show } = asking
  try {
    return await attempt(endpoint, asking)
  } catch (cause) {
    const fault = cx.store.faultOf(cause)
    if (fault) return told(endpoint, asking, fault)
    if (!(cause instanceof OAuthError)) throw cause
    await recordRefusal(asking, cause)
    if (endpoint.anyOrigin) return errorJson(cause, cx.requestId)
    const detail = `${cause.description}.`
    return showTrouble(show, cx, { problem: "invalid_request", detail })
  }
}

/** Only failures cost: however often a client comes that can prove itself, it is let in. */
async function attempt(endpoint: Endpoint, asking: Asking): Promise<Response> {
  try {
    return await endpoint.answer(asking)
  } catch (cause) {
    const isUnproven = cause instanceof OAuthError && cause.error === "invalid_client"
    if (isUnproven) asking.cx.allowance?.spend("client")
    throw cause
  }
}

function told({ anyOrigin }: Endpoint, { cx, show }: Asking, fault: Fault) {
  if (!anyOrigin) return showFault(show, cx, fault)
  const answer = errorJson(errorOf(fault), cx.requestId)
  if (fault.retryAfterSeconds) answer.headers.set("retry-after", String(fault.retryAfterSeconds))
  return answer
}
