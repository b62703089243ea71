import { fileHeaders, notFound } from "../../api/respond.ts"
import { type PublicFile, publicFile } from "../../domain/asset/index.ts"
import { areaOf } from "../../http/route.ts"
import type { Published } from "../../oauth/index.ts"
import type { Cx } from "../../store/index.ts"

const below = "/assets/*"

/** What everybody may have of the files that others have sent; the rest below is the API's. */
export const publicFileRoutes = () =>
  areaOf("asset", {
    [below]: {
      isOpen: true,
      answer: ({ request, cx, url }) => publicFileAt(request, cx, url.pathname),
    },
  })

/** Browsers ask again after seconds, mostly to be told that nothing has changed (RFC 9110 §13). */
export function publicFileAt(request: Request, cx: Cx, pathname: string): Response | undefined {
  const { method, headers } = request
  if (method !== "GET" && method !== "HEAD") return undefined
  const file = publicFile(cx, pathname)
  if (file === undefined) return undefined
  if (file === "nothing") return notFound()
  const said = headersOf(file)
  const known = headers.get("if-none-match")
  if (known && isAmong(known, file.etag)) return new Response(null, { status: 304, headers: said })
  return new Response(method === "HEAD" ? null : file.bytes, { headers: said })
}

/**
 * The files of looks that are small enough to be kept ready: they stand on every page that people
 * sign in on.
 */
export const publishedLooks: Published = {
  route: { template: below, group: "asset", isSignIn: false },
  isAt: (url) => url.includes("/assets/v1/") && url.includes("/policy/label/"),
  answer: (cx, pathname) => {
    const file = publicFile(cx, pathname)
    if (file === undefined || file === "nothing" || file.bytes.length > readyBytesMax) {
      return undefined
    }
    // Of a blob, unlike of bytes, a copy of the answer shares what is in it.
    return new Response(new Blob([file.bytes]), { headers: headersOf(file) })
  },
  streams: ["policy"],
}

/** A hundred of them are kept at most. */
const readyBytesMax = 64 * 1024

const headersOf = ({ type, etag }: PublicFile) => ({
  ...fileHeaders(type),
  "access-control-allow-origin": "*",
  "cache-control": "public, max-age=5, s-maxage=604800",
  etag,
})

/** RFC 9110 §13.1.2: weak comparison, and "*" is whatever there is. */
const isAmong = (known: string, etag: string): boolean =>
  known.split(",").some((each) => ["*", etag].includes(each.trim().replace(/^W\//, "")))
