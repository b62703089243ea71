import { createHash } from "node:crypto"
import { openApiTexts } from "../gen/openapi.ts"

/**
 * Answers the OpenAPI documents and the pages of their reader, which the build has made; undefined
 * for every other path.
 */
export async function openApiAnswer(
  { method, headers: requested }: Request,
  pathname: string,
): Promise<Response | undefined> {
  if (method !== "GET" && method !== "HEAD") return undefined
  const path = pathname.replace(/\/$/, "")
  const text = openApiTexts.get(path)
  if (!text) return undefined
  const packed = await Bun.file(text.gzip).bytes()
  // RFC 9110 §8.8.1: weak, since packed it is the same in other bytes.
  const etag = `W/"${text.hash}"`
  const own = path.endsWith("/json") ? documentHeaders : pageHeaders(packed)
  const headers = { "cache-control": "no-cache", vary: "accept-encoding", ...own, etag }
  // RFC 9110 §13.1.2: who has it already is told just that.
  const known = requested.get("if-none-match") ?? ""
  if (known === "*" || known.includes(etag)) return new Response(null, { status: 304, headers })
  if (!/\bgzip\b/.test(requested.get("accept-encoding") ?? ""))
    return new Response(Bun.gunzipSync(packed), { headers })
  return new Response(packed, { headers: { ...headers, "content-encoding": "gzip" } })
}

const documentHeaders = {
  "content-type": "application/json",
  // Tools that read the document run in pages of other origins.
  "access-control-allow-origin": "*",
}

/** Scripts are files of ours; of styles also those that the page itself has, by their hashes. */
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
