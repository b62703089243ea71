import type { Refusal } from "../domain/refusal/index.ts"
import { areaOf, type Route } from "../http/route.ts"
import type { Fault } from "../kernel/fault.ts"
import { showFault, showTrouble } from "../login/index.ts"
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
import { errorJson } from "./response.ts"

type Row = readonly [endpoint: Endpoint, path: string, isSignIn: boolean]

/** Metrics count each by itself, under its name in discovery, or the name of its path. */
const endpoints: Readonly<Record<keyof typeof paths, Row>> = {
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
  // What proxies ask has a host and an application in its path.
  forwardAuth: [forwardAuth, `${paths.forwardAuth}*`, false],
  forwardRefused: [forwardRefused, paths.forwardRefused, false],
  endSession: [endSession, paths.endSession, true],
  endSessionAlias: [endSession, paths.endSessionAlias, true],
}

export type OAuthParts = Pick<Asking, "show" | "issued"> & {
  /** Learns of each request that was refused, why, and what metrics count its route as. */
  readonly refused: (refusal: Refusal, group: string) => void
}

/** The protocol endpoints. */
export function oauthRoutes(parts: OAuthParts) {
  const routes = Object.entries(endpoints).map(
    ([group, [endpoint, path, isSignIn]]) =>
      [path, { ...routeOf(parts, group, endpoint), group, isSignIn }] as const,
  )
  // What nobody serves below is a page of a sign-in, too, as far as it is one.
  const nothing = { group: "other", isSignIn: true }
  return areaOf("oauth", {
    ...Object.fromEntries(routes),
    "/oauth/*": nothing,
    "/oidc/*": nothing,
  })
}

function routeOf({ refused, ...parts }: OAuthParts, group: string, endpoint: Endpoint): Route {
  const { methods, anyOrigin, exists, formMax } = endpoint
  const told = { ...parts, refused: (refusal: Refusal) => refused(refusal, group) }
  return {
    methods,
    anyOrigin,
    ...(exists && { exists: ({ cx }) => exists(cx) }),
    answer: ({ cx, request, url }) => {
      const form = once(() => formOf(request, formMax))
      return failingTold(endpoint, { ...told, cx, request, url, form })
    },
  }
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
async function failingTold(endpoint: Endpoint, asking: Asking): Promise<Response> {
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
