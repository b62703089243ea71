import type { Cx } from "../store/index.ts"
import { discoveryDocument } from "./endpoint/discovery.ts"
import { keysDocument } from "./endpoint/keys.ts"
import { paths } from "./issuer.ts"
import { publicJson } from "./response.ts"

const documents: readonly (readonly [path: string, document: (cx: Cx) => string])[] = [
  [paths.keys, keysDocument],
  [paths.discovery, discoveryDocument],
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
    if (known && known.changes === changesOf(known.cx)) {
      return new Response(known.body, { headers: known.headers })
    }
    const document = documents.find(([path]) => url.endsWith(path))
    if (!document) return undefined
    const address = URL.parse(url)
    if (address?.pathname !== document[0]) return undefined
    const cx = call(address.host)
    if (!cx) return undefined
    if (ready.size >= readyMax) ready.clear()
    const changes = changesOf(cx)
    const body = document[1](cx)
    const headers = new Headers(publicJson)
    secured(address.host, headers)
    ready.set(url, { changes, body, headers, cx })
    return new Response(body, { headers })
  }
}

type Ready = {
  readonly changes: number
  readonly body: string
  /** Made with it, for speed. */
  readonly headers: Headers
  readonly cx: Cx
}

/** Hosts are known ones, but a query makes any address new. */
const readyMax = 100

/** What both documents are made of. */
const changesOf = (cx: Cx): number => cx.store.log.changesOf(["instance", "web_key", "limits"])
