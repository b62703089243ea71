import type { RouteInfo } from "../http/visit.ts"
import type { Cx } from "../store/index.ts"
import { discoveryDocument, discoveryStreams } from "./endpoint/metadata/discovery.ts"
import { keysDocument, keysStreams } from "./endpoint/metadata/keys.ts"
import { paths } from "./issuer.ts"
import { publicJson } from "./response.ts"

/** What everybody gets the same of, whoever asks. */
export type Published = {
  /** Where it is served, for who is not answered at once. */
  readonly route: RouteInfo
  /** Whether an address may be one of its own, at a glance. */
  readonly isAt: (url: string) => boolean
  /** What is said at a path; undefined where that is for somebody else to say. */
  readonly answer: (cx: Cx, pathname: string) => Response | undefined
  /** What it is made of. */
  readonly streams: readonly string[]
}

/** What says whether anything is shown at all. */
const shown = ["instance", "limits"]

const documentAt = (
  route: RouteInfo,
  document: (cx: Cx) => string,
  streams: readonly string[],
): Published => ({
  route,
  isAt: (url) => url.endsWith(route.template),
  answer: (cx, pathname) =>
    pathname === route.template ? new Response(document(cx), { headers: publicJson }) : undefined,
  streams,
})

const routeTo = (group: "keys" | "discovery"): RouteInfo => ({
  template: paths[group],
  group,
  isSignIn: group === "keys",
})

const documents: readonly Published[] = [
  documentAt(routeTo("keys"), keysDocument, keysStreams),
  documentAt(routeTo("discovery"), discoveryDocument, discoveryStreams),
]

/**
 * Answers what many ask for and everybody gets the same of, ready before anybody looks at who asks:
 * the two documents that every client of every application reads, and `more`. `call` makes the call
 * of the host in an address, undefined for unknown ones. Undefined for every other request.
 * `secured` adds to headers what every answer has; `found` is told by which route.
 */
export function publishedHandler(
  call: (host: string) => Cx | undefined,
  secured: (host: string, headers: Headers) => void,
  more: readonly Published[] = [],
  found: (request: Request, route: RouteInfo) => void = () => undefined,
) {
  const all = [...documents, ...more]
  const ready = new Map<string, Ready>()
  return (request: Request): Response | undefined => {
    const { method, url, headers: asked } = request
    // RFC 9112 §3.2: of two Host headers, which come joined, the address has one.
    if (method !== "GET" || asked.get("host")?.includes(",")) return undefined
    const known = ready.get(url)
    if (known && known.changes === changesOf(known)) {
      // Whoever has it already is told so by who looks at that.
      if (known.isTagged && asked.has("if-none-match")) return undefined
      found(request, known.route)
      // A copy shares its bytes: it costs less than to put the same answer together again.
      return known.answer.clone()
    }
    const document = all.find(({ isAt }) => isAt(url))
    const address = document && URL.parse(url)
    const cx = address ? call(address.host) : undefined
    if (!document || !address || !cx) return undefined
    const streams = [...document.streams, ...shown]
    const changes = changesOf({ cx, streams })
    const answer = document.answer(cx, address.pathname)
    if (!answer) return undefined
    secured(address.host, answer.headers)
    const isTagged = answer.headers.has("etag")
    if (ready.size >= readyMax) ready.clear()
    const { route } = document
    ready.set(url, { changes, answer, cx, streams, isTagged, route })
    if (isTagged && asked.has("if-none-match")) return undefined
    found(request, route)
    return answer.clone()
  }
}

type Ready = Pick<Published, "streams" | "route"> & {
  readonly changes: number
  readonly answer: Response
  readonly cx: Cx
  /** Whether it can be asked for only if it has changed (RFC 9110 §13.1.2). */
  readonly isTagged: boolean
}

/** Hosts are known ones, but a query makes any address new. */
const readyMax = 100

const changesOf = ({ cx, streams }: Pick<Ready, "cx" | "streams">): number =>
  cx.store.log.changesOf(streams)
