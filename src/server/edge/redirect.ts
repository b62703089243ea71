import { instanceIds, requireInstance } from "../../domain/instance/index.ts"
import { servedAt } from "../../http/host.ts"
import { hostName } from "../../kernel/net/host.ts"
import type { ServerServices } from "../services.ts"

/**
 * Sends who comes by plain http on to https (RFC 6797 §7.2), where the host is ours: what others
 * write into Host leads nowhere. A form or a token that came in plain has been read on the way, so
 * it is refused, and whoever wrote the client notices. `port` is where we speak TLS.
 */
export function toHttps(services: ServerServices, port: number, request: Request): Response {
  const url = URL.parse(request.url)
  const origin = url && originOf(services, port, url)
  if (!origin) return new Response("nothing is served at this host\n", { status: 421 })
  if (request.method !== "GET" && request.method !== "HEAD") {
    return new Response(`this address takes no requests; use ${origin}\n`, { status: 403 })
  }
  const headers = { location: origin + url.pathname + url.search, "cache-control": "no-store" }
  return new Response(null, { status: 308, headers })
}

function originOf(services: ServerServices, port: number, { host }: URL) {
  const hostname = hostName(host)
  const [only, ...more] = instanceIds(services.store)
  // Before set-up, every host is as good as another.
  if (only === undefined) return `https://${hostname}${port === 443 ? "" : `:${port}`}`
  const instance =
    servedAt(services, host)?.instance ??
    servedAt(services, hostname)?.instance ??
    (more.length === 0 ? only : undefined)
  if (instance === undefined) return undefined
  const { publicUrl } = requireInstance({ store: services.store, instance })
  const known = new URL(publicUrl)
  const isServed = servedAt(services, hostname) !== undefined || known.hostname === hostname
  if (known.protocol !== "https:" || !isServed) return undefined
  return `https://${hostname}${known.port === "" ? "" : `:${known.port}`}`
}
