import { statSync } from "node:fs"
import { Gauge, type Registry } from "prom-client"
import { instanceIds } from "../../domain/instance/index.ts"
import { listWebKeys } from "../../domain/key/index.ts"
import { messagesWaiting } from "../../domain/message/index.ts"
import { passwordLoad } from "../../domain/user/index.ts"
import type { Reactors } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"

/** What gauges look at. */
export type Gauged = {
  readonly services: Pick<ServerServices, "store" | "clock" | "call" | "notReady">
  readonly reactors: Pick<Reactors, "standing">
}

type Row = readonly [labels: Readonly<Record<string, string>>, value: number]

type Look = {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  readonly rows: () => readonly Row[]
}

/** What stands at the moment: it is looked at when somebody asks, and costs nothing until then. */
export function addGauges(registry: Registry, gauged: Gauged): void {
  for (const { name, help, labels = [], rows } of looks(gauged)) {
    const gauge = new Gauge({
      ...{ name, help, labelNames: [...labels], registers: [registry] },
      collect: () => {
        gauge.reset()
        for (const [labelled, value] of rows()) gauge.set({ ...labelled }, value)
      },
    })
  }
}

const looks = (gauged: Gauged): readonly Look[] => [
  ...storeLooks(gauged),
  ...nodeLooks(gauged),
  ...workLooks(gauged),
  ...instanceLooks(gauged),
]

function storeLooks({ services: { store, notReady } }: Gauged): readonly Look[] {
  const file = store.database.filename
  const size = (of: string): readonly Row[] => [
    [{}, statSync(of, { throwIfNoEntry: false })?.size ?? 0],
  ]
  return [
    {
      name: "latchkey_ready",
      help: "Whether this process should be sent requests, as /debug/ready says it",
      rows: () => [[{}, notReady() === undefined ? 1 : 0]],
    },
    {
      name: "latchkey_log_position",
      help: "The position of the newest event that is on disk",
      rows: () => [[{}, store.log.durable()]],
    },
    {
      name: "latchkey_database_bytes",
      help: "The size of the database, without its WAL",
      rows: () => size(file),
    },
    {
      name: "latchkey_wal_bytes",
      help: "The size of the WAL; it does not shrink when it begins anew",
      rows: () => size(`${file}-wal`),
    },
  ]
}

/** Of several that share a log each tells about itself. */
function nodeLooks({ services: { store } }: Gauged): readonly Look[] {
  const { node } = store
  if (!node) return []
  const self = () => node.standing().filter(({ isSelf }) => isSelf)
  return [
    {
      name: "latchkey_nodes",
      help: "Nodes that share the log and were heard of within ten seconds",
      rows: () => [[{}, node.standing().filter(({ seenMs }) => seenMs < 10_000).length]],
    },
    {
      name: "latchkey_node_unseen_seconds",
      help: "For how long this node has not seen the end of the log; beyond one it is not ready",
      rows: () => [[{}, node.unseen() / 1000]],
    },
    {
      name: "latchkey_node_behind_events",
      help: "Events that the log had beyond those of this node; it looks each second",
      rows: () => self().map(({ behind }) => [{}, behind]),
    },
    {
      name: "latchkey_node_works",
      help: "Whether this node does what one of them does: mails, calls of targets, keys",
      rows: () => self().map(({ leads }) => [{}, leads ? 1 : 0]),
    },
  ]
}

function workLooks({ services: { store }, reactors }: Gauged): readonly Look[] {
  const hashing = (of: "busy" | "waiting") => (): readonly Row[] =>
    Object.entries(passwordLoad()).map(([kind, load]) => [{ kind }, load[of]])
  return [
    {
      name: "latchkey_hashing_busy",
      help: "Passwords that are hashed at the moment; foreign ones were imported with their hash",
      labels: ["kind"],
      rows: hashing("busy"),
    },
    {
      name: "latchkey_hashing_waiting",
      help: "Passwords that wait to be hashed; beyond 256 (foreign: 32) people are sent away",
      labels: ["kind"],
      rows: hashing("waiting"),
    },
    {
      name: "latchkey_reactor_lag_events",
      help: "Events that work in the background has not looked at yet",
      labels: ["reactor"],
      rows: () => {
        const head = store.log.durable()
        return reactors
          .standing()
          .map(({ name, position }) => [{ reactor: name }, Math.max(head - position, 0)])
      },
    },
    {
      name: "latchkey_failed_events",
      help: "Events that work in the background went on without, until somebody mends them",
      labels: ["reactor"],
      rows: () => reactors.standing().map(({ name, failed }) => [{ reactor: name }, failed]),
    },
  ]
}

/** Over all instances, so that there are not more of them than a reader can take. */
function instanceLooks({ services: { store, clock, call } }: Gauged): readonly Look[] {
  const all = () => instanceIds(store).map((id) => call(id, "metrics"))
  return [
    {
      name: "latchkey_instances",
      help: "Instances that are set up",
      rows: () => [[{}, instanceIds(store).length]],
    },
    {
      name: "latchkey_messages_waiting",
      help: "Mails and SMS that wait to go out, or failed and can be sent again",
      labels: ["status"],
      rows: () => {
        const sums = { queued: 0, failed: 0 }
        for (const cx of all()) {
          const { queued, failed } = messagesWaiting(cx)
          sums.queued += queued
          sums.failed += failed
        }
        return Object.entries(sums).map(([status, count]) => [{ status }, count])
      },
    },
    {
      name: "latchkey_signing_key_age_seconds",
      help: "For how long the oldest key that signs has done so, by algorithm",
      labels: ["algorithm"],
      rows: () => {
        const since = new Map<string, number>()
        for (const cx of all()) {
          for (const { status, algorithm, changed } of listWebKeys(cx)) {
            const oldest = Math.min(since.get(algorithm) ?? changed, changed)
            if (status === "active") since.set(algorithm, oldest)
          }
        }
        const now = clock.now()
        return [...since].map(([algorithm, from]) => [{ algorithm }, (now - from) / 1000])
      },
    },
  ]
}
