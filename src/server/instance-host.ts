import { instanceAt, requireInstance } from "../domain/instance/index.ts"
import type { Peer } from "../kernel/net/address.ts"
import { hostName } from "../kernel/net/host.ts"
import type { ServerServices } from "./services.ts"

const header = "x-core-instance-host"

/** Whether a request names another instance than that of its host; see `resolveInstanceHost`. */
export const namesInstance = ({ headers }: Request): boolean => headers.has(header)

/**
 * The request for the instance that a header or the path names. A proxy with forward authentication
 * can name the instance only in the path (see forward-auth). The result is the same as under the
 * host itself.
 */
export function resolveInstanceHost(
  services: Pick<ServerServices, "store" | "isProxy">,
  request: Request,
  peer: Peer,
): Request {
  const { url } = request
  const isAsked = url.includes("/forward-auth/")
  const [, host] = (isAsked && /^https?:\/\/[^/]*\/forward-auth\/([^/?#]+)\//.exec(url)) || []
  if (host === undefined) return applyHostHeader(services, request, peer)
  return instanceAt(services.store, host) === undefined ? request : withHost(request, host)
}

/**
 * The request with the host from the header: a trusted proxy can name the instance with a header if
 * the instance trusts the domain. From other clients, and for unknown domains, the header is
 * ignored.
 */
function applyHostHeader(
  { store, isProxy }: Pick<ServerServices, "store" | "isProxy">,
  request: Request,
  peer: Peer,
): Request {
  const named = request.headers.get(header)
  if (named === null || !isProxy(peer())) return request
  const instance = instanceAt(store, named)
  if (instance === undefined) return request
  const requested = request.headers.get("host") ?? new URL(request.url).host
  const name = hostName(requested)
  if (!Object.hasOwn(requireInstance({ store, instance }).trustedDomains, name)) return request
  return withHost(request, named)
}

function withHost(request: Request, host: string): Request {
  const headers = new Headers(request.headers)
  headers.set("host", host)
  headers.delete(header)
  return new Request(request, { headers })
}
