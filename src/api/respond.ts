import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf"
import { successor } from "../gen/core/options_pb.ts"
import type { Fault } from "../kernel/fault.ts"
import { httpStatus, statusOf, unknownPathBody } from "./faults.ts"
import { nameOf } from "./method.ts"

type Headers = Readonly<Record<string, string>>

/**
 * Every origin can call the API: tokens are sent in a header, so browsers never send them
 * automatically.
 */
export const crossOrigin: Headers = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "grpc-status, grpc-message, grpc-status-details-bin, location, x-request-id, " +
    "x-core-position, x-core-targets-passed-over, deprecation, link, www-authenticate",
}

/** Responses depend on the caller and can contain secrets, so no cache may store them. */
const defaultHeaders: Headers = {
  ...crossOrigin,
  "content-type": "application/json",
  "cache-control": "no-store",
}

export const respond = (body: string | Uint8Array<ArrayBuffer>, headers: Headers, status = 200) =>
  new Response(body, { status, headers: { ...defaultHeaders, ...headers } })

/** HTTP statuses that are more specific than the status of the code. */
const exactStatuses: Readonly<Record<string, number>> = {
  "request.head_too_large": 431,
  "request.method_wrong": 405,
  "request.too_large": 413,
  "request.type_unknown": 415,
}

export const httpStatusOf = ({ id, code }: Fault): number => exactStatuses[id] ?? httpStatus(code)

/**
 * Headers for uploaded files: the browser must not run, load or open anything from the content,
 * even if a user opens the URL directly.
 */
export const fileHeaders = (type: string): Headers => ({
  "content-type": type,
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  "cross-origin-resource-policy": "cross-origin",
  "x-content-type-options": "nosniff",
})

/** The response to a failed REST call. */
export function respondFault(fault: Fault, headers: Headers): Response {
  const allHeaders = { ...challengeHeaders(fault), ...retryAfterHeaders(fault), ...headers }
  return respond(JSON.stringify(statusOf(fault)), allHeaders, httpStatusOf(fault))
}

/** RFC 6585 §4: when the client can try again after too many requests. */
const retryAfterHeaders = ({ retryAfterSeconds: seconds }: Fault): Headers =>
  seconds ? { "retry-after": String(seconds) } : {}

/**
 * RFC 6750 §3: the type of token that the request requires; RFC 9470 §3: the maximum age of the
 * sign-in if it is too old.
 */
export const challengeHeaders = ({ code, message, maxAgeSeconds }: Fault): Headers => {
  if (code !== "unauthenticated") return {}
  if (maxAgeSeconds === undefined) return { "www-authenticate": "Bearer" }
  const error = `error="insufficient_user_authentication", error_description="${message}"`
  return { "www-authenticate": `Bearer ${error}, max_age="${maxAgeSeconds}"` }
}

/** The CORS preflight response for pages of other origins. */
export const preflightResponse = (): Response =>
  new Response(null, {
    status: 204,
    headers: {
      ...crossOrigin,
      "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
      "access-control-allow-headers":
        "accept-language, authorization, connect-protocol-version, connect-timeout-ms, " +
        "content-type, dpop, grpc-timeout, x-core-orgid, x-grpc-web, x-user-agent",
      "access-control-max-age": "7200",
    },
  })

/** The response for an unknown path. */
export const notFoundResponse = (): Response => respond(JSON.stringify(unknownPathBody), {}, 404)

/**
 * The response headers that mark a deprecated operation and name its successor; empty for all
 * others. Throws if a deprecated operation has no successor or a successor is set for one that is
 * not deprecated.
 */
export function deprecationHeadersOf(method: DescMethod): Readonly<Record<string, string>> {
  if (method.deprecated !== hasOption(method, successor)) {
    throw new Error(
      `${nameOf(method)}: a successor is required for a deprecated operation and not allowed ` +
        "for others",
    )
  }
  if (!method.deprecated) return {}
  const { method: next, how } = getOption(method, successor)
  // RFC 8288 §3.4.1: the title is a quoted string.
  const title = how.replace(/["\\]/g, "\\$&")
  // RFC 5829 §3.4 defines this relation.
  const link = `</${next}>; rel="successor-version"; title="${title}"`
  return { deprecation: deprecatedSince, link }
}

/**
 * RFC 9745 §2.1: the date of deprecation in seconds. All deprecated operations have been deprecated
 * since the first release.
 */
const deprecatedSince = `@${Date.UTC(2026, 10, 21) / 1000}`
