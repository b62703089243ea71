import { type Store, statement, systemStatement, view } from "../../store/index.ts"
import type { InstanceEvent } from "./model.ts"

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
  },
})

const setHost = statement(
  `INSERT INTO instance_hosts (instance, id, host) VALUES ($instance, $id, $host)
   ON CONFLICT DO UPDATE SET host = excluded.host`,
)

const byHost = systemStatement<{ instance: string }>(
  "SELECT instance FROM instance_hosts WHERE host = $host",
  "a request's host is what tells its instance",
)
const byName = systemStatement<{ host: string }>(
  `SELECT host FROM instance_hosts
   WHERE host = $name OR substr(host, 1, length($name) + 1) = $name || ':' LIMIT 2`,
  "gRPC clients name the port that they dial, which is not the public address's",
)
const every = systemStatement<{ instance: string }>(
  "SELECT instance FROM instance_hosts ORDER BY instance",
  "the process asks what it serves before any request has come",
)

/** The instance that people reach at `host` ("id.example.com", with a port where it has one). */
export const instanceAt = (store: Store, host: string): string | undefined =>
  store.get({ instance: "" }, byHost, { host })?.instance

/**
 * The public host that `authority` names on the listener of gRPC, whose port is its own: the same
 * name with the public port. Where several instances share a name, only the exact host will do.
 */
export function grpcHost(store: Store, authority: string): string {
  const asked = authority.toLowerCase()
  if (instanceAt(store, asked) !== undefined) return asked
  const [found, another] = store.all({ instance: "" }, byName, {
    name: asked.replace(/:\d+$/, ""),
  })
  return found && !another ? found.host : asked
}

/** Every instance of this data folder; none before set-up. */
export const instanceIds = (store: Store): readonly string[] =>
  store.all({ instance: "" }, every).map((row) => row.instance)
