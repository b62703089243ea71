import { publishedSeconds } from "../domain/key/index.ts"
import type { OAuthError } from "./error.ts"

export type Headers = Readonly<Record<string, string>>

/** RFC 6749 §5.1: responses with tokens, or about tokens, must not be cached. */
export const noStore = { "cache-control": "no-store", pragma: "no-cache" } as const

/** For endpoints that scripts of all origins can read: they don't use cookies. */
export const anyOrigin = { "access-control-allow-origin": "*" } as const

/** Headers of an error response that scripts of all origins can read. */
export const exposedHeaders = {
  "access-control-expose-headers": "www-authenticate, retry-after, x-request-id",
} as const

const jsonType = { "content-type": "application/json" } as const

type ResponseOptions = { readonly status?: number; readonly headers?: Headers }

/** A JSON response that all origins can read; not cached unless its headers allow it. */
export const json = (body: object, { status = 200, headers }: ResponseOptions = {}): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: headers ? { ...jsonType, ...anyOrigin, ...headers } : uncachedHeaders,
  })

/** The headers of most responses, created once for speed. */
const uncachedHeaders = new globalThis.Headers({ ...jsonType, ...anyOrigin, ...noStore })

/** Headers of a public document, which can be cached as long as keys allow. */
export const publicJson = {
  ...jsonType,
  ...anyOrigin,
  "cache-control": `public, max-age=${publishedSeconds}`,
} as const

export const publicDocument = (body: string): Response =>
  new Response(body, { headers: publicJson })

/** RFC 6749 §5.2. The request ID refers to the log. */
export function errorJson(fault: OAuthError, requestId: string): Response {
  const { error, description, status } = fault
  // RFC 7617 §2: a challenge contains a realm.
  const challenge: Headers = status === 401 ? { "www-authenticate": 'Basic realm="client"' } : {}
  const body = { error, error_description: description, request_id: requestId }
  const id: Headers = { "x-request-id": requestId }
  return json(body, { status, headers: { ...noStore, ...exposedHeaders, ...challenge, ...id } })
}

/** Redirects the browser with GET; `cookies` are Set-Cookie headers. */
export function redirect(location: string, ...cookies: readonly (string | undefined)[]): Response {
  const headers = new globalThis.Headers({ ...noStore, "referrer-policy": "no-referrer" })
  headers.set("location", toAscii(location))
  for (const cookie of cookies) if (cookie) headers.append("set-cookie", cookie)
  return new Response(null, { status: 303, headers })
}

/** RFC 3987 §3.1: a registered URI may contain characters that are not allowed in headers. */
const toAscii = (location: string): string =>
  location.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent)
