import type { RouteInfo } from "../http/visit.ts"
import type { Cx } from "../store/index.ts"
import { discoveryDocument, discoveryStreams } from "./endpoint/metadata/discovery.ts"
import { keysDocument, keysStreams } from "./endpoint/metadata/keys.ts"
import { paths } from "./issuer.ts"
import { publicJson } from "./response.ts"

/** A document that is the same for every client. */
export type PublicDocument = {
  /** The route for requests that are not answered from memory. */
  readonly route: RouteInfo
  /** A quick check whether a URL may be one of the document. */
  readonly mayMatch: (url: string) => boolean
  /** The response for a path; undefined if another handler must respond. */
  readonly answer: (cx: Cx, pathname: string) => Response | undefined
  /** The streams that the document depends on. */
  readonly streams: readonly string[]
}

/** The streams that determine whether documents are available at all. */
const availabilityStreams = ["instance", "limits"]

const documentAt = (
  route: RouteInfo,
  document: (cx: Cx) => string,
  streams: readonly string[],
): PublicDocument => ({
  route,
  mayMatch: (url) => url.endsWith(route.template),
  answer: (cx, pathname) =>
    pathname === route.template ? new Response(document(cx), { headers: publicJson }) : undefined,
  streams,
})

const routeTo = (group: "keys" | "discovery"): RouteInfo => ({
  template: paths[group],
  group,
  isSignIn: group === "keys",
})

const documents: readonly PublicDocument[] = [
  documentAt(routeTo("keys"), keysDocument, keysStreams),
  documentAt(routeTo("discovery"), discoveryDocument, discoveryStreams),
]

/**
 * Responds from memory to frequent requests that are the same for every client, before the caller
 * is determined: the discovery document, the key set, and `more`. `call` creates the call for the
 * host in a URL, undefined for unknown hosts. Returns undefined for all other requests. `secured`
 * adds the headers that every response has; `onMatch` is called with the route.
 */
export function publicDocumentHandler(
  call: (host: string) => Cx | undefined,
  addSecurityHeaders: (host: string, headers: Headers) => void,
  more: readonly PublicDocument[] = [],
  onMatch: (request: Request, route: RouteInfo) => void = () => undefined,
) {
  const all = [...documents, ...more]
  const ready = new Map<string, CachedDocument>()
  return (request: Request): Response | undefined => {
    const { method, url, headers: requestHeaders } = request
    // RFC 9112 §3.2: duplicate Host headers arrive joined, while the URL contains only one.
    if (method !== "GET" || requestHeaders.get("host")?.includes(",")) return undefined
    const cachedDocument = ready.get(url)
    if (cachedDocument && cachedDocument.changes === changesOf(cachedDocument)) {
      // Conditional requests are handled elsewhere.
      if (cachedDocument.isTagged && requestHeaders.has("if-none-match")) return undefined
      onMatch(request, cachedDocument.route)
      // A clone shares its bytes, which costs less than creating the response again.
      return cachedDocument.answer.clone()
    }
    const document = all.find(({ mayMatch }) => mayMatch(url))
    const address = document && URL.parse(url)
    const cx = address ? call(address.host) : undefined
    if (!document || !address || !cx) return undefined
    const streams = [...document.streams, ...availabilityStreams]
    const changes = changesOf({ cx, streams })
    const answer = document.answer(cx, address.pathname)
    if (!answer) return undefined
    addSecurityHeaders(address.host, answer.headers)
    const isTagged = answer.headers.has("etag")
    if (ready.size >= cacheMax) ready.clear()
    const { route } = document
    ready.set(url, { changes, answer, cx, streams, isTagged, route })
    if (isTagged && requestHeaders.has("if-none-match")) return undefined
    onMatch(request, route)
    return answer.clone()
  }
}

type CachedDocument = Pick<PublicDocument, "streams" | "route"> & {
  readonly changes: number
  readonly answer: Response
  readonly cx: Cx
  /** Whether the response has an ETag for conditional requests (RFC 9110 §13.1.2). */
  readonly isTagged: boolean
}

/** Hosts are known, but every query string makes a new URL. */
const cacheMax = 100

const changesOf = ({ cx, streams }: Pick<CachedDocument, "cx" | "streams">): number =>
  cx.store.log.changesOf(streams)
