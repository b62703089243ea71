import { defaultPort, hostName, splitHost } from "../../kernel/net/host.ts"
import type { Page, SearchResult } from "../../kernel/page.ts"
import {
  type Cx,
  fold,
  integer,
  paginate,
  type Store,
  systemStatement,
  table,
  text,
  view,
} from "../../store/index.ts"
import { type InstanceEvent, instance } from "./model.ts"

const hostTable = table("instance_hosts", { id: text(), host: text() }, { key: ["id"] })

/** Instances by the host of their public URL; requests find their instance here. */
export const instanceHostView = view<InstanceEvent>({
  name: "instance_host",
  tables: [hostTable],
  on: {
    "instance.public.url.set": (db, { id, data: { url } }) =>
      hostTable.upsert(db, { id, host: new URL(url).host }, ["host"]),
    "instance.removed": (db) => hostTable.remove(db, {}),
  },
})

const domainTable = table("instance_domains", { domain: text() }, { key: ["domain"] })
const removedTable = table("removed_instances", { position: integer() }, { key: ["position"] })
const nameTable = table(
  "instances",
  { name_folded: text(), created: integer() },
  { key: ["created"] },
)

/** The additional domains of instances, and the columns for lists. */
export const instanceView = view<InstanceEvent>({
  name: "instance",
  revision: 2,
  tables: [domainTable, removedTable, nameTable],
  on: {
    "instance.added": (db, { data: { name }, time }) =>
      nameTable.insert(db, { name_folded: fold(name), created: time }),
    "instance.changed": (db, { data: { name } }) =>
      nameTable.update(db, {}, { name_folded: fold(name) }),
    "instance.domain.added": (db, { data: { domain } }) => domainTable.insert(db, { domain }),
    "instance.domain.removed": (db, { data: { domain } }) => domainTable.remove(db, { domain }),
    "instance.removed": (db, { position }) => {
      domainTable.remove(db, {})
      nameTable.remove(db, {})
      removedTable.insert(db, { position })
    },
  },
})

const byDomain = systemStatement<{ instance: string }>(
  "SELECT instance FROM instance_domains WHERE domain = $name",
  "the host of a request selects its instance",
)
const byHost = systemStatement<{ instance: string }>(
  "SELECT instance FROM instance_hosts WHERE host = $host",
  "the host of a request selects its instance",
)
const byName = systemStatement<{ host: string; instance: string }>(
  `SELECT host, instance FROM instance_hosts
   WHERE host = $name OR substr(host, 1, length($name) + 1) = $name || ':' LIMIT 2`,
  "gRPC clients send the port of the gRPC listener, not that of the public URL",
)
const allInstances = systemStatement<{ instance: string }>(
  "SELECT instance FROM instance_hosts ORDER BY instance",
  "the process lists all instances before the first request",
)

/**
 * The instance at `host` ("id.example.com", with an optional port): the one with that public URL,
 * or with that domain on any port. A trailing dot and the default port are ignored (RFC 9110
 * §4.2.3).
 */
export function instanceAt(store: Store, host: string): string | undefined {
  const { name, port } = splitHost(host)
  const found = atHost(store, host.toLowerCase()) ?? atHost(store, normalizeHost(host))
  if (found !== undefined) return found
  const portless = port === undefined ? undefined : atHost(store, name)
  if (portless !== undefined && defaultPort(protocolOf(store, portless)) === port) return portless
  return store.get({ instance: "" }, byDomain, { name })?.instance
}

const atHost = (store: Store, host: string): string | undefined =>
  store.get({ instance: "" }, byHost, { host })?.instance

/** The host without a trailing dot, with its port. */
function normalizeHost(host: string): string {
  const { name, port } = splitHost(host)
  return port === undefined ? name : `${name}:${port}`
}

function protocolOf(store: Store, id: string): string {
  const state = store.state({ instance: id }, instance, id)
  return state.status === "absent" ? "" : new URL(state.publicUrl).protocol
}

/** Filters for instances; an empty list matches none. */
export type InstanceFilter =
  | { readonly ids: readonly string[] }
  | { readonly domains: readonly string[] }

export type InstanceSort = "id" | "name" | "created"

/** The IDs of instances, sorted; the search covers all instances of the process. */
export function searchInstances(
  cx: Cx,
  query: {
    readonly page: Page
    readonly sort: InstanceSort
    readonly filters: readonly InstanceFilter[]
  },
): SearchResult<string> {
  const { page, sort, filters } = query
  const matching = cx.store
    .all({ instance: "" }, listed)
    .filter(({ id }) => filters.every((filter) => matchesInstance(cx.store, id, filter)))
  const requested = ["instances", sort, filters]
  const found = paginate(cx, matching, { page, requested, by: (row) => [row[sort], row.id] })
  return { ...found, rows: found.rows.map(({ id }) => id) }
}

function matchesInstance(store: Store, id: string, filter: InstanceFilter): boolean {
  if ("ids" in filter) return filter.ids.includes(id)
  return filter.domains.some((domain) => findInstanceByDomain(store, domain) === id)
}

/** The instance with this domain, primary or additional. */
export function findInstanceByDomain(store: Store, domain: string): string | undefined {
  const name = hostName(domain)
  const other = store.get({ instance: "" }, byDomain, { name })?.instance
  return other ?? store.get({ instance: "" }, byName, { name })?.instance
}

const listed = systemStatement<{ id: string; name: string; created: number }>(
  "SELECT instance AS id, name_folded AS name, created FROM instances",
  "administrators of several instances can list them all",
)

/**
 * The public host for an `authority` of the gRPC listener, which has its own port: the same name
 * with the public port. If several instances share a name, only the exact host matches.
 */
export function grpcHost(store: Store, authority: string): string {
  const requested = normalizeHost(authority)
  const isExact = atHost(store, requested) !== undefined
  if (isExact || store.get({ instance: "" }, byDomain, { name: hostName(requested) })) {
    return requested
  }
  const [found, another] = store.all({ instance: "" }, byName, {
    name: hostName(requested),
  })
  return found && !another ? found.host : requested
}

/** Removed instances with the position of their removal. */
export const removedInstances = (store: Store): readonly RemovedInstance[] =>
  store.all({ instance: "" }, removedStatement)

type RemovedInstance = { readonly instance: string; readonly position: number }

const removedStatement = systemStatement<RemovedInstance>(
  "SELECT instance, position FROM removed_instances",
  "the process deletes the data of removed instances",
)

/**
 * Whether there is only one instance, whose administrators therefore run the whole service and its
 * network.
 */
export const isOnlyInstance = ({ store }: Pick<Cx, "store">): boolean =>
  instanceIds(store).length <= 1

/** All instances of this data directory; none before the setup. */
export const instanceIds = (store: Store): readonly string[] =>
  store.all({ instance: "" }, allInstances).map((row) => row.instance)
