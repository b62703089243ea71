import { createHash } from "node:crypto"
import { openApiTexts } from "../gen/openapi.ts"

/**
 * Serves the OpenAPI documents and the reader pages from the build; undefined for all other paths.
 */
export async function openApiResponse(
  { method, headers: requested }: Request,
  pathname: string,
): Promise<Response | undefined> {
  if (method !== "GET" && method !== "HEAD") return undefined
  const path = pathname.replace(/\/$/, "")
  const text = openApiTexts.get(path)
  if (!text) return undefined
  const packed = await Bun.file(text.gzip).bytes()
  // RFC 9110 §8.8.1: weak, because the compressed content has other bytes.
  const etag = `W/"${text.hash}"`
  const own = path.endsWith("/json") ? documentHeaders : pageHeaders(packed)
  const headers = { "cache-control": "no-cache", vary: "accept-encoding", ...own, etag }
  // RFC 9110 §13.1.2: a client with the current version gets 304.
  const known = requested.get("if-none-match") ?? ""
  if (known === "*" || known.includes(etag)) return new Response(null, { status: 304, headers })
  if (!/\bgzip\b/.test(requested.get("accept-encoding") ?? ""))
    return new Response(Bun.gunzipSync(packed), { headers })
  return new Response(packed, { headers: { ...headers, "content-encoding": "gzip" } })
}

const documentHeaders = {
  "content-type": "application/json",
  // Tools in pages of other origins read the document.
  "access-control-allow-origin": "*",
}

/** Scripts come only from this server; inline styles of the page are allowed by hash. */
const pageHeaders = (packed: Uint8Array<ArrayBuffer>) => ({
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' ${stylesIn(packed).map(hashOf).join(" ")}`,
    "connect-src 'self'",
    "img-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
})

function stylesIn(packed: Uint8Array<ArrayBuffer>): readonly string[] {
  const html = Buffer.from(Bun.gunzipSync(packed)).toString()
  return [...html.matchAll(/<style>([\s\S]*?)<\/style>/g)].map(([, style = ""]) => style)
}

const hashOf = (style: string) => `'sha256-${createHash("sha256").update(style).digest("base64")}'`
