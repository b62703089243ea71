import { fileHeaders, notFoundResponse } from "../../api/respond.ts"
import { type PublicFile, publicFile } from "../../domain/asset/index.ts"
import { createArea } from "../../http/route.ts"
import type { PublicDocument } from "../../oauth/index.ts"
import type { Cx } from "../../store/index.ts"

const below = "/assets/*"

/** The public uploaded files; other paths below belong to the API. */
export const publicFileRoutes = () =>
  createArea("asset", {
    [below]: {
      isOpen: true,
      answer: ({ request, cx, url }) => publicFileResponse(request, cx, url.pathname),
    },
  })

/**
 * Browsers revalidate after seconds, usually with the result that nothing has changed (RFC 9110
 * §13).
 */
export function publicFileResponse(
  request: Request,
  cx: Cx,
  pathname: string,
): Response | undefined {
  const { method, headers } = request
  if (method !== "GET" && method !== "HEAD") return undefined
  const file = publicFile(cx, pathname)
  if (file === undefined) return undefined
  if (file === "nothing") return notFoundResponse()
  const fileHeadersValue = fileHeadersOf(file)
  const known = headers.get("if-none-match")
  if (known && matchesEtag(known, file.etag))
    return new Response(null, { status: 304, headers: fileHeadersValue })
  return new Response(method === "HEAD" ? null : file.bytes, { headers: fileHeadersValue })
}

/**
 * Branding files that are small enough to keep in memory, because every sign-in page contains them.
 */
export const cachedBrandingFiles: PublicDocument = {
  route: { template: below, group: "asset", isSignIn: false },
  mayMatch: (url) => url.includes("/assets/v1/") && url.includes("/policy/label/"),
  answer: (cx, pathname) => {
    const file = publicFile(cx, pathname)
    if (file === undefined || file === "nothing" || file.bytes.length > cachedBytesMax) {
      return undefined
    }
    // Copies of a response share the content of a blob, but not of bytes.
    return new Response(new Blob([file.bytes]), { headers: fileHeadersOf(file) })
  },
  streams: ["policy"],
}

/** At most a hundred files are kept. */
const cachedBytesMax = 64 * 1024

const fileHeadersOf = ({ type, etag }: PublicFile) => ({
  ...fileHeaders(type),
  "access-control-allow-origin": "*",
  "cache-control": "public, max-age=5, s-maxage=604800",
  etag,
})

/** RFC 9110 §13.1.2: weak comparison; "*" matches anything. */
const matchesEtag = (knownEtags: string, etag: string): boolean =>
  knownEtags.split(",").some((each) => ["*", etag].includes(each.trim().replace(/^W\//, "")))
