import type { Fault } from "../kernel/fault.ts"
import { httpStatus, nothingHere, statusOf } from "./faults.ts"

type Headers = Readonly<Record<string, string>>

/** Every page may call: the token comes in a header, so no page has one by itself. */
export const crossOrigin: Headers = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "grpc-status, grpc-message, grpc-status-details-bin, location, x-request-id, " +
    "x-core-position, x-core-targets-passed-over, deprecation, link, www-authenticate",
}

/** Answers depend on the caller and may hold secrets: nobody on the way keeps them. */
const always: Headers = {
  ...crossOrigin,
  "content-type": "application/json",
  "cache-control": "no-store",
}

export const respond = (body: string | Uint8Array<ArrayBuffer>, headers: Headers, status = 200) =>
  new Response(body, { status, headers: { ...always, ...headers } })

/** Where HTTP has a status that is more exact than the code's own. */
const exact: Readonly<Record<string, number>> = {
  "request.head_too_large": 431,
  "request.method_wrong": 405,
  "request.too_large": 413,
  "request.type_unknown": 415,
}

export const httpStatusOf = ({ id, code }: Fault): number => exact[id] ?? httpStatus(code)

/**
 * On every file that others have sent: whatever is in it runs nothing, loads nothing and opens
 * nothing, also where somebody goes to its very address.
 */
export const fileHeaders = (type: string): Headers => ({
  "content-type": type,
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  "cross-origin-resource-policy": "cross-origin",
  "x-content-type-options": "nosniff",
})

/** A failed REST call. */
export function respondFault(fault: Fault, headers: Headers): Response {
  const said = { ...challenge(fault), ...retryAfter(fault), ...headers }
  return respond(JSON.stringify(statusOf(fault)), said, httpStatusOf(fault))
}

/** RFC 6585 §4: who asked too often learns when to ask again. */
const retryAfter = ({ retryAfterSeconds: seconds }: Fault): Headers =>
  seconds ? { "retry-after": String(seconds) } : {}

/**
 * RFC 6750 §3: a request without a usable token is told what kind is wanted; RFC 9470 §3, one whose
 * sign-in is too old, how old it may be.
 */
export const challenge = ({ code, message, maxAgeSeconds }: Fault): Headers => {
  if (code !== "unauthenticated") return {}
  if (maxAgeSeconds === undefined) return { "www-authenticate": "Bearer" }
  const error = `error="insufficient_user_authentication", error_description="${message}"`
  return { "www-authenticate": `Bearer ${error}, max_age="${maxAgeSeconds}"` }
}

/** Tells a browser beforehand what a page of another origin may send. */
export const preflight = (): Response =>
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

/** What nobody serves. */
export const notFound = (): Response => respond(JSON.stringify(nothingHere), {}, 404)
