import { hostName, splitHost, usualPort } from "../../kernel/net/host.ts"
import type { Found, Page } from "../../kernel/page.ts"
import {
  type Cx,
  fold,
  integer,
  type Store,
  systemStatement,
  table,
  text,
  view,
  windowOf,
} from "../../store/index.ts"
import { type InstanceEvent, instance } from "./model.ts"

const hostTable = table("instance_hosts", { id: text(), host: text() }, { key: ["id"] })

/** Which instance an address belongs to; how requests find their tenant. */
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

/** The names of instances beside those of their public addresses, and what lists tell of them. */
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
  "a request's host is what tells its instance",
)
const byHost = systemStatement<{ instance: string }>(
  "SELECT instance FROM instance_hosts WHERE host = $host",
  "a request's host is what tells its instance",
)
const byName = systemStatement<{ host: string; instance: string }>(
  `SELECT host, instance FROM instance_hosts
   WHERE host = $name OR substr(host, 1, length($name) + 1) = $name || ':' LIMIT 2`,
  "gRPC clients name the port that they dial, which is not the public address's",
)
const every = systemStatement<{ instance: string }>(
  "SELECT instance FROM instance_hosts ORDER BY instance",
  "the process asks what it serves before any request has come",
)

/**
 * The instance that people reach at `host` ("id.example.com", with a port where it has one): the
 * one of that public address, or that has the name for another domain, whatever the port. A final
 * dot, and the usual port of the public address, make no difference (RFC 9110 §4.2.3).
 */
export function instanceAt(store: Store, host: string): string | undefined {
  const { name, port } = splitHost(host)
  const found = atHost(store, host.toLowerCase()) ?? atHost(store, writtenHost(host))
  if (found !== undefined) return found
  const portless = port === undefined ? undefined : atHost(store, name)
  if (portless !== undefined && usualPort(protocolOf(store, portless)) === port) return portless
  return store.get({ instance: "" }, byDomain, { name })?.instance
}

const atHost = (store: Store, host: string): string | undefined =>
  store.get({ instance: "" }, byHost, { host })?.instance

/** A host without a final dot, with the port that it has. */
function writtenHost(host: string): string {
  const { name, port } = splitHost(host)
  return port === undefined ? name : `${name}:${port}`
}

function protocolOf(store: Store, id: string): string {
  const state = store.state({ instance: id }, instance, id)
  return state.status === "absent" ? "" : new URL(state.publicUrl).protocol
}

/** What instances are found by; an empty list finds none. */
export type InstanceFilter =
  | { readonly ids: readonly string[] }
  | { readonly domains: readonly string[] }

export type InstanceSort = "id" | "name" | "created"

/** Instances by their ids, sorted; the process's own look across all of them. */
export function searchInstances(
  cx: Cx,
  query: {
    readonly page: Page
    readonly sort: InstanceSort
    readonly filters: readonly InstanceFilter[]
  },
): Found<string> {
  const { page, sort, filters } = query
  const matching = cx.store
    .all({ instance: "" }, listed)
    .filter(({ id }) => filters.every((filter) => matchesInstance(cx.store, id, filter)))
  const requested = ["instances", sort, filters]
  const found = windowOf(cx, matching, { page, requested, by: (row) => [row[sort], row.id] })
  return { ...found, rows: found.rows.map(({ id }) => id) }
}

function matchesInstance(store: Store, id: string, filter: InstanceFilter): boolean {
  if ("ids" in filter) return filter.ids.includes(id)
  return filter.domains.some((domain) => namedInstance(store, domain) === id)
}

/** The instance that has a domain, be it that of its public address or another one. */
export function namedInstance(store: Store, domain: string): string | undefined {
  const name = hostName(domain)
  const other = store.get({ instance: "" }, byDomain, { name })?.instance
  return other ?? store.get({ instance: "" }, byName, { name })?.instance
}

const listed = systemStatement<{ id: string; name: string; created: number }>(
  "SELECT instance AS id, name_folded AS name, created FROM instances",
  "whoever manages several instances sees them all",
)

/**
 * The public host that `authority` names on the listener of gRPC, whose port is its own: the same
 * name with the public port. Where several instances share a name, only the exact host will do.
 */
export function grpcHost(store: Store, authority: string): string {
  const requested = writtenHost(authority)
  const isExact = atHost(store, requested) !== undefined
  if (isExact || store.get({ instance: "" }, byDomain, { name: hostName(requested) })) {
    return requested
  }
  const [found, another] = store.all({ instance: "" }, byName, {
    name: hostName(requested),
  })
  return found && !another ? found.host : requested
}

/** Instances that are gone, and the position from which on they are. */
export const removedInstances = (store: Store): readonly Removed[] =>
  store.all({ instance: "" }, everyRemoved)

type Removed = { readonly instance: string; readonly position: number }

const everyRemoved = systemStatement<Removed>(
  "SELECT instance, position FROM removed_instances",
  "the process takes away what removed instances had",
)

/** Whether an administrator of an instance runs the whole service, and so its network. */
export const isOnlyInstance = ({ store }: Pick<Cx, "store">): boolean =>
  instanceIds(store).length <= 1

/** Every instance of this data folder; none before set-up. */
export const instanceIds = (store: Store): readonly string[] =>
  store.all({ instance: "" }, every).map((row) => row.instance)
