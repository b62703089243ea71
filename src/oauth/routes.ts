import type { Refusal } from "../domain/refusal/index.ts"
import { createArea, type Route } from "../http/route.ts"
import type { Fault } from "../kernel/fault.ts"
import { showError, showFault } from "../login/index.ts"
import { authorize } from "./endpoint/authorize.ts"
import { callback } from "./endpoint/callback.ts"
import { device } from "./endpoint/device.ts"
import { deviceAuthorization } from "./endpoint/device-authorization.ts"
import { endSession } from "./endpoint/end-session.ts"
import type { Endpoint, EndpointContext } from "./endpoint/endpoint.ts"
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
import { OAuthError, toOAuthError } from "./error.ts"
import { forwardAuth } from "./forward/endpoint.ts"
import { forwardRejection } from "./forward/rejection.ts"
import { paths } from "./issuer.ts"
import { parseForm } from "./parameters.ts"
import { recordRejectedRequest } from "./rejected-request.ts"
import { errorJson } from "./response.ts"

type EndpointRow = readonly [endpoint: Endpoint, path: string, isSignIn: boolean]

/**
 * Metrics count each endpoint under its name in the discovery document, or under the name of its
 * path.
 */
const endpoints: Readonly<Record<keyof typeof paths, EndpointRow>> = {
  discovery: [discovery, paths.discovery, false],
  serverMetadata: [serverMetadata, paths.serverMetadata, false],
  protectedResource: [protectedResource, paths.protectedResource, false],
  keys: [keys, paths.keys, true],
  authorize: [authorize, paths.authorize, true],
  callback: [callback, paths.callback, true],
  par: [par, paths.par, true],
  registration: [register, paths.registration, true],
  token: [token, paths.token, true],
  deviceAuthorization: [deviceAuthorization, paths.deviceAuthorization, true],
  device: [device, paths.device, false],
  introspection: [introspect, paths.introspection, true],
  revocation: [revoke, paths.revocation, true],
  userinfo: [userinfo, paths.userinfo, true],
  // The path of a forward-auth request contains a host and an application.
  forwardAuth: [forwardAuth, `${paths.forwardAuth}*`, false],
  forwardRefused: [forwardRejection, paths.forwardRefused, false],
  endSession: [endSession, paths.endSession, true],
  endSessionAlias: [endSession, paths.endSessionAlias, true],
}

export type OAuthParts = Pick<EndpointContext, "show" | "onIssued"> & {
  /** Called for each rejected request, with the reason and the group of its route in metrics. */
  readonly onRejected: (refusal: Refusal, group: string) => void
}

/** The protocol endpoints. */
export function oauthRoutes(parts: OAuthParts) {
  const routes = Object.entries(endpoints).map(
    ([group, [endpoint, path, isSignIn]]) =>
      [path, { ...routeOf(parts, group, endpoint), group, isSignIn }] as const,
  )
  // Unknown paths below these are treated as sign-in pages.
  const unknownRoute = { group: "other", isSignIn: true }
  return createArea("oauth", {
    ...Object.fromEntries(routes),
    "/oauth/*": unknownRoute,
    "/oidc/*": unknownRoute,
  })
}

function routeOf({ onRejected, ...parts }: OAuthParts, group: string, endpoint: Endpoint): Route {
  const { methods, anyOrigin, exists, formMax } = endpoint
  const endpointParts = { ...parts, onRejected: (refusal: Refusal) => onRejected(refusal, group) }
  return {
    methods,
    anyOrigin,
    ...(exists && { exists: ({ cx }) => exists(cx) }),
    answer: ({ cx, request, url }) => {
      const form = cacheResult(() => parseForm(request, formMax))
      return respond(endpoint, { ...endpointParts, cx, request, url, form })
    },
  }
}

/** Caches the body, which can be read only once, because recording a rejection needs it, too. */
function cacheResult<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () => {
    reading ??= read()
    return reading
  }
}

/** Returns expected failures as JSON for programs and as a page for users. */
async function respond(endpoint: Endpoint, context: EndpointContext): Promise<Response> {
  const { cx, show } = context
  try {
    return await limitFailures(endpoint, context)
  } catch (cause) {
    const fault = cx.store.faultOf(cause)
    if (fault) return errorResponse(endpoint, context, fault)
    if (!(cause instanceof OAuthError)) throw cause
    await recordRejectedRequest(context, cause)
    if (endpoint.anyOrigin) return errorJson(cause, cx.requestId)
    const detail = `${cause.description}.`
    return showError(show, cx, { problem: "invalid_request", detail })
  }
}

/** Only failures count toward the rate limit; successful clients are not limited. */
async function limitFailures(endpoint: Endpoint, context: EndpointContext): Promise<Response> {
  try {
    return await endpoint.handle(context)
  } catch (cause) {
    const isUnproven = cause instanceof OAuthError && cause.error === "invalid_client"
    if (isUnproven) context.cx.allowance?.spend("client")
    throw cause
  }
}

function errorResponse({ anyOrigin }: Endpoint, { cx, show }: EndpointContext, fault: Fault) {
  if (!anyOrigin) return showFault(show, cx, fault)
  const answer = errorJson(toOAuthError(fault), cx.requestId)
  if (fault.retryAfterSeconds) answer.headers.set("retry-after", String(fault.retryAfterSeconds))
  return answer
}
