import { instanceAt, requireInstance } from "../domain/instance/index.ts"
import type { Store } from "../store/index.ts"

/** What a host names. */
type Served = {
  readonly instance: string
  /** Whether people reach it by https. */
  readonly isSecure: boolean
}

/**
 * What a host names; undefined for an unknown host, and before set-up. Answers are kept while no
 * instance changes: every request asks.
 */
export function servedAt({ store }: { readonly store: Store }, host: string): Served | undefined {
  if (host.length > hostMax) return undefined
  const changes = store.log.changesOf(instances)
  if (known.store !== store || known.changes !== changes || known.hosts.size > hostsMax) {
    known = { store, changes, hosts: new Map() }
  }
  const served = known.hosts.get(host)
  if (served !== undefined || known.hosts.has(host)) return served
  const instance = instanceAt(store, host)
  const found =
    instance === undefined ? undefined : { instance, isSecure: isSecure(store, instance) }
  known.hosts.set(host, found)
  return found
}

const instances = ["instance"]

const isSecure = (store: Store, instance: string): boolean =>
  requireInstance({ store, instance }).publicUrl.startsWith("https:")

type HostCache = {
  readonly store: Store | undefined
  readonly changes: number
  readonly hosts: Map<string, Served | undefined>
}
let known: HostCache = { store: undefined, changes: 0, hosts: new Map() }
const hostsMax = 1000
/** RFC 1035 §2.3.4, and a port. */
const hostMax = 261
