import { fileHeaders, notFound } from "../../api/respond.ts"
import { publicFile } from "../../domain/asset/index.ts"
import type { Cx } from "../../store/index.ts"

/**
 * Answers what everybody may have of the files that others have sent; undefined for other paths.
 * Browsers ask again after seconds, and are mostly told that nothing has changed (RFC 9110 §13).
 */
export function publicFileAt(request: Request, cx: Cx, pathname: string): Response | undefined {
  if (!pathname.startsWith("/assets/")) return undefined
  const { method, headers } = request
  if (method !== "GET" && method !== "HEAD") return undefined
  const file = publicFile(cx, pathname)
  if (file === undefined) return undefined
  if (file === "nothing") return notFound()
  const said = {
    ...fileHeaders(file.type),
    "access-control-allow-origin": "*",
    "cache-control": "public, max-age=5, s-maxage=604800",
    etag: file.etag,
  }
  const known = headers.get("if-none-match")
  if (known && isAmong(known, file.etag)) return new Response(null, { status: 304, headers: said })
  return new Response(method === "HEAD" ? null : file.bytes, { headers: said })
}

/** RFC 9110 §13.1.2: weak comparison, and "*" is whatever there is. */
const isAmong = (known: string, etag: string): boolean =>
  known.split(",").some((each) => ["*", etag].includes(each.trim().replace(/^W\//, "")))
