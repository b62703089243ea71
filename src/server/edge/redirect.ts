import { instanceIds, requireInstance } from "../../domain/instance/index.ts"
import { findInstanceByHost } from "../../http/host.ts"
import { hostName } from "../../kernel/net/host.ts"
import type { ServerServices } from "../services.ts"

/**
 * Redirects plain http requests for a known host to https (RFC 6797 §7.2). Unknown hosts are not
 * redirected. A form or token sent over plain http could have been intercepted, so it is rejected
 * to make the error visible. `port` is the TLS port.
 */
export function redirectToHttps(
  services: ServerServices,
  port: number,
  request: Request,
): Response {
  const url = URL.parse(request.url)
  const origin = url && originOf(services, port, url)
  if (!origin) return new Response("unknown host\n", { status: 421 })
  if (request.method !== "GET" && request.method !== "HEAD") {
    return new Response(`this address takes no requests; use ${origin}\n`, { status: 403 })
  }
  const headers = { location: origin + url.pathname + url.search, "cache-control": "no-store" }
  return new Response(null, { status: 308, headers })
}

function originOf(services: ServerServices, port: number, { host }: URL) {
  const hostname = hostName(host)
  const [only, ...more] = instanceIds(services.store)
  // Before the setup, the host of the request can't be checked.
  if (only === undefined) return `https://${hostname}${port === 443 ? "" : `:${port}`}`
  const instance =
    findInstanceByHost(services, host)?.instance ??
    findInstanceByHost(services, hostname)?.instance ??
    (more.length === 0 ? only : undefined)
  if (instance === undefined) return undefined
  const { publicUrl } = requireInstance({ store: services.store, instance })
  const known = new URL(publicUrl)
  const isServed =
    findInstanceByHost(services, hostname) !== undefined || known.hostname === hostname
  if (known.protocol !== "https:" || !isServed) return undefined
  return `https://${hostname}${known.port === "" ? "" : `:${known.port}`}`
}
