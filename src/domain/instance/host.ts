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
const every = systemStatement<{ instance: string }>(
  "SELECT instance FROM instance_hosts ORDER BY instance",
  "the process asks what it serves before any request has come",
)

/** The instance that people reach at `host` ("id.example.com", with a port where it has one). */
export const instanceAt = (store: Store, host: string): string | undefined =>
  store.get({ instance: "" }, byHost, { host })?.instance

/** Every instance of this data folder; none before set-up. */
export const instanceIds = (store: Store): readonly string[] =>
  store.all({ instance: "" }, every).map((row) => row.instance)
