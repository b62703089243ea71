import { hostName, splitHost, usualPort } from "../../kernel/net/host.ts"
import type { Found, Page } from "../../kernel/page.ts"
import {
  type Cx,
  fold,
  type Store,
  statement,
  systemStatement,
  view,
  windowOf,
} from "../../store/index.ts"
import { type InstanceEvent, instance } from "./model.ts"

/** Which instance an address belongs to; how requests find their tenant. */
export const instanceHostView = view<InstanceEvent>({
  name: "instance_host",
  tables: {
    instance_hosts: {
      columns: "id TEXT NOT NULL, host TEXT NOT NULL",
      key: "id",
    },
  },
  on: {
    "instance.public.url.set": (db, { data }) => db.run(setHost, { host: new URL(data.url).host }),
    "instance.removed": (db) => db.run(noHost),
  },
})

/** The names of instances beside those of their public addresses, and what lists tell of them. */
export const instanceView = view<InstanceEvent>({
  name: "instance",
  revision: 2,
  tables: {
    instance_domains: { columns: "domain TEXT NOT NULL", key: "domain" },
    removed_instances: { columns: "position INTEGER NOT NULL", key: "position" },
    instances: { columns: "name_folded TEXT NOT NULL, created INTEGER NOT NULL", key: "created" },
  },
  on: {
    "instance.added": (db, { data }) => db.run(addName, { name: fold(data.name) }),
    "instance.changed": (db, { data }) => db.run(setName, { name: fold(data.name) }),
    "instance.domain.added": (db, { data }) => db.run(addDomainRow, data),
    "instance.domain.removed": (db, { data }) => db.run(removeDomainRow, data),
    "instance.removed": (db) => {
      db.run(noDomains)
      db.run(noName)
      db.run(noteRemoved)
    },
  },
})

const setHost = statement(
  `INSERT INTO instance_hosts (instance, id, host) VALUES ($instance, $id, $host)
   ON CONFLICT DO UPDATE SET host = excluded.host`,
)

const noHost = statement("DELETE FROM instance_hosts WHERE instance = $instance")
const addName = statement(
  "INSERT INTO instances (instance, name_folded, created) VALUES ($instance, $name, $time)",
)
const setName = statement("UPDATE instances SET name_folded = $name WHERE instance = $instance")
const noName = statement("DELETE FROM instances WHERE instance = $instance")
const addDomainRow = statement(
  "INSERT INTO instance_domains (instance, domain) VALUES ($instance, $domain)",
)
const removeDomainRow = statement(
  "DELETE FROM instance_domains WHERE instance = $instance AND domain = $domain",
)
const noteRemoved = statement(
  "INSERT INTO removed_instances (instance, position) VALUES ($instance, $position)",
)
const noDomains = statement("DELETE FROM instance_domains WHERE instance = $instance")

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
