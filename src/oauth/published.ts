import type { Cx } from "../store/index.ts"
import { discoveryDocument } from "./endpoint/discovery.ts"
import { keysDocument } from "./endpoint/keys.ts"
import { paths } from "./issuer.ts"
import { type Headers, published } from "./response.ts"

const documents: readonly (readonly [path: string, document: (cx: Cx) => string])[] = [
  [paths.keys, keysDocument],
  [paths.discovery, discoveryDocument],
]

/**
 * Answers for the two documents that every client of every application reads, ready before anybody
 * looks at who asks: `call` makes the call of the host in an address, undefined for unknown ones.
 * Undefined for every other request. `headersOf` tells what each answer has beside its own.
 */
export function publishedHandler(
  call: (host: string) => Cx | undefined,
  headersOf: (cx: Cx) => Headers,
) {
  const ready = new Map<string, Ready>()
  return ({ method, url, headers: asked }: Request): Response | undefined => {
    // RFC 9112 §3.2: of two Host headers, which come joined, the address has one.
    if (method !== "GET" || asked.get("host")?.includes(",")) return undefined
    const known = ready.get(url)
    if (known && known.changes === changesOf(known.cx)) return published(known.body, known.headers)
    const document = documents.find(([path]) => url.endsWith(path))
    if (!document) return undefined
    const address = URL.parse(url)
    const cx = address?.pathname === document[0] ? call(address.host) : undefined
    if (!cx) return undefined
    if (ready.size >= readyMax) ready.clear()
    const changes = changesOf(cx)
    const body = document[1](cx)
    const headers = headersOf(cx)
    ready.set(url, { changes, body, headers, cx })
    return published(body, headers)
  }
}

type Ready = {
  readonly changes: number
  readonly body: string
  /** Made with it, for speed: what else every answer has. */
  readonly headers: Headers
  readonly cx: Cx
}

/** Hosts are known ones, but a query makes any address new. */
const readyMax = 100

/** What both documents are made of. */
const changesOf = (cx: Cx): number => cx.store.log.changesOf(["instance", "web_key", "limits"])
