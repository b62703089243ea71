import { publishedSeconds } from "../domain/key/index.ts"
import type { OAuthError } from "./error.ts"

export type Headers = Readonly<Record<string, string>>

/** RFC 6749 §5.1: answers with tokens, and about them, are kept by nobody. */
export const noStore = { "cache-control": "no-store", pragma: "no-cache" } as const

/** Endpoints that scripts of any origin may read: nothing there depends on cookies. */
export const anyOrigin = { "access-control-allow-origin": "*" } as const

/** What scripts of any origin may read of a refusal, beside its body. */
export const exposed = {
  "access-control-expose-headers": "www-authenticate, retry-after, x-request-id",
} as const

const jsonType = { "content-type": "application/json" } as const

type Answer = { readonly status?: number; readonly headers?: Headers }

/** A JSON answer for programs, readable from every origin; kept by nobody but where it says so. */
export const json = (body: object, { status = 200, headers }: Answer = {}): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: headers ? { ...jsonType, ...anyOrigin, ...headers } : unkept,
  })

/** Made once, for speed: of nearly all answers. */
const unkept = new globalThis.Headers({ ...jsonType, ...anyOrigin, ...noStore })

/** A document that everybody may read, and keep for as long as keys count on. */
export const publicJson = {
  ...jsonType,
  ...anyOrigin,
  "cache-control": `public, max-age=${publishedSeconds}`,
} as const

export const published = (body: string): Response => new Response(body, { headers: publicJson })

/** RFC 6749 §5.2. The id finds what is known about the request. */
export function errorJson(fault: OAuthError, requestId: string): Response {
  const { error, description, status } = fault
  // RFC 7617 §2: a challenge names its realm.
  const challenge: Headers = status === 401 ? { "www-authenticate": 'Basic realm="client"' } : {}
  const body = { error, error_description: description, request_id: requestId }
  const id: Headers = { "x-request-id": requestId }
  return json(body, { status, headers: { ...noStore, ...exposed, ...challenge, ...id } })
}

/** Sends the browser on with GET; `cookies` are Set-Cookie lines. */
export function redirect(location: string, ...cookies: readonly (string | undefined)[]): Response {
  const headers = new globalThis.Headers({ ...noStore, "referrer-policy": "no-referrer" })
  headers.set("location", asciiOf(location))
  for (const cookie of cookies) if (cookie) headers.append("set-cookie", cookie)
  return new Response(null, { status: 303, headers })
}

/** RFC 3987 §3.1: a registered address may have characters that no header can carry. */
const asciiOf = (location: string): string =>
  location.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent)
