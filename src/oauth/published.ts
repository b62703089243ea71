import type { Cx } from "../store/index.ts"
import { discoveryDocument, discoveryStreams } from "./endpoint/discovery.ts"
import { keysDocument, keysStreams } from "./endpoint/keys.ts"
import { paths } from "./issuer.ts"
import { publicJson } from "./response.ts"

type Published = {
  readonly path: string
  readonly document: (cx: Cx) => string
  /** What it is made of, and what says whether it is shown at all. */
  readonly streams: readonly string[]
}

const shown = ["instance", "limits"]

const documents: readonly Published[] = [
  { path: paths.keys, document: keysDocument, streams: [...keysStreams, ...shown] },
  { path: paths.discovery, document: discoveryDocument, streams: [...discoveryStreams, ...shown] },
]

/**
 * Answers for the two documents that every client of every application reads, ready before anybody
 * looks at who asks: `call` makes the call of the host in an address, undefined for unknown ones.
 * Undefined for every other request. `secured` adds to headers what every answer has.
 */
export function publishedHandler(
  call: (host: string) => Cx | undefined,
  secured: (host: string, headers: Headers) => void,
) {
  const ready = new Map<string, Ready>()
  return ({ method, url, headers: asked }: Request): Response | undefined => {
    // RFC 9112 §3.2: of two Host headers, which come joined, the address has one.
    if (method !== "GET" || asked.get("host")?.includes(",")) return undefined
    const known = ready.get(url)
    if (known && known.changes === changesOf(known)) {
      // A copy shares its bytes: it costs less than to put the same answer together again.
      return known.answer.clone()
    }
    const found = documents.find(({ path }) => url.endsWith(path))
    if (!found) return undefined
    const { path, document, streams } = found
    const address = URL.parse(url)
    if (address?.pathname !== path) return undefined
    const cx = call(address.host)
    if (!cx) return undefined
    if (ready.size >= readyMax) ready.clear()
    const changes = changesOf({ cx, streams })
    const headers = new Headers(publicJson)
    secured(address.host, headers)
    const answer = new Response(document(cx), { headers })
    ready.set(url, { changes, answer, cx, streams })
    return answer.clone()
  }
}

type Ready = Pick<Published, "streams"> & {
  readonly changes: number
  readonly answer: Response
  readonly cx: Cx
}

/** Hosts are known ones, but a query makes any address new. */
const readyMax = 100

const changesOf = ({ cx, streams }: Pick<Ready, "cx" | "streams">): number =>
  cx.store.log.changesOf(streams)
