import { instanceAt, requireInstance } from "../domain/instance/index.ts"
import type { Store } from "../store/index.ts"

/** The instance that a host name belongs to. */
type HostedInstance = {
  readonly instance: string
  /** Whether its public URL uses HTTPS. */
  readonly isSecure: boolean
}

/**
 * Returns the instance of a host; undefined for an unknown host, and before setup. Results are
 * cached until an instance changes, because every request needs one.
 */
export function findInstanceByHost(
  { store }: { readonly store: Store },
  host: string,
): HostedInstance | undefined {
  if (host.length > maxHostLength) return undefined
  const changes = store.log.changesOf(instanceStreams)
  if (
    hostCache.store !== store ||
    hostCache.changes !== changes ||
    hostCache.hosts.size > maxCachedHosts
  ) {
    hostCache = { store, changes, hosts: new Map() }
  }
  const hosted = hostCache.hosts.get(host)
  if (hosted !== undefined || hostCache.hosts.has(host)) return hosted
  const instance = instanceAt(store, host)
  const cached =
    instance === undefined ? undefined : { instance, isSecure: hasSecureUrl(store, instance) }
  hostCache.hosts.set(host, cached)
  return cached
}

const instanceStreams = ["instance"]

const hasSecureUrl = (store: Store, instance: string): boolean =>
  requireInstance({ store, instance }).publicUrl.startsWith("https:")

type HostCache = {
  readonly store: Store | undefined
  readonly changes: number
  readonly hosts: Map<string, HostedInstance | undefined>
}
let hostCache: HostCache = { store: undefined, changes: 0, hosts: new Map() }
const maxCachedHosts = 1000
/** RFC 1035 §2.3.4, plus a port. */
const maxHostLength = 261
