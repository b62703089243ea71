import { statSync } from "node:fs"
import { Gauge, type Registry } from "prom-client"
import { passwordLoad } from "../../domain/credential/index.ts"
import { instanceIds } from "../../domain/instance/index.ts"
import { listWebKeys } from "../../domain/key/index.ts"
import { messagesWaiting } from "../../domain/message/index.ts"
import type { Cx, Reactors } from "../../store/index.ts"
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
  /** Left out for what every process has. */
  readonly isThere?: (gauged: Gauged) => boolean
  readonly rows: (gauged: Gauged) => readonly Row[]
}

/** What stands at the moment: it is looked at when somebody asks, and costs nothing until then. */
export function addGauges(registry: Registry, gauged: Gauged): void {
  for (const { name, help, labels = [], isThere, rows } of gauges) {
    if (isThere && !isThere(gauged)) continue
    const gauge = new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers: [registry],
      collect: () => {
        gauge.reset()
        for (const [labelled, value] of rows(gauged)) gauge.set({ ...labelled }, value)
      },
    })
  }
}

const size = (file: string): readonly Row[] => [
  [{}, statSync(file, { throwIfNoEntry: false })?.size ?? 0],
]

const storeGauges: readonly Look[] = [
  {
    name: "latchkey_ready",
    help: "Whether this process should be sent requests, as /debug/ready says it",
    rows: ({ services }) => [[{}, services.notReady() === undefined ? 1 : 0]],
  },
  {
    name: "latchkey_log_position",
    help: "The position of the newest event that is on disk",
    rows: ({ services }) => [[{}, services.store.log.durable()]],
  },
  {
    name: "latchkey_database_bytes",
    help: "The size of the database, without its WAL",
    rows: ({ services }) => size(services.store.database.filename),
  },
  {
    name: "latchkey_wal_bytes",
    help: "The size of the WAL; it does not shrink when it begins anew",
    rows: ({ services }) => size(`${services.store.database.filename}-wal`),
  },
]

/** Of several that share a log each tells about itself. */
const nodeLook = (name: string, help: string, of: (node: Node) => number | undefined): Look => ({
  name,
  help,
  isThere: ({ services }) => services.store.node !== undefined,
  rows: ({ services: { store } }) => {
    const value = store.node && of(store.node)
    return value === undefined ? [] : [[{}, value]]
  },
})

type Node = NonNullable<Gauged["services"]["store"]["node"]>

const selfOf = (node: Node) => node.standing().find(({ isSelf }) => isSelf)

const nodeGauges: readonly Look[] = [
  nodeLook(
    "latchkey_nodes",
    "Nodes that share the log and were heard of within ten seconds",
    (node) => node.standing().filter(({ seenMs }) => seenMs < 10_000).length,
  ),
  nodeLook(
    "latchkey_node_unseen_seconds",
    "For how long this node has not seen the end of the log; beyond one it is not ready",
    (node) => node.unseen() / 1000,
  ),
  nodeLook(
    "latchkey_node_behind_events",
    "Events that the log had beyond those of this node; it looks each second",
    (node) => selfOf(node)?.behind,
  ),
  nodeLook(
    "latchkey_node_works",
    "Whether this node does what one of them does: mails, calls of targets, keys",
    (node) => {
      const self = selfOf(node)
      return self && (self.leads ? 1 : 0)
    },
  ),
]

const hashing = (of: "busy" | "waiting") => (): readonly Row[] =>
  Object.entries(passwordLoad()).map(([kind, load]) => [{ kind }, load[of]])

const workGauges: readonly Look[] = [
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
    rows: ({ services, reactors }) => {
      const head = services.store.log.durable()
      return reactors
        .standing()
        .map(({ name, position }) => [{ reactor: name }, Math.max(head - position, 0)])
    },
  },
  {
    name: "latchkey_failed_events",
    help: "Events that work in the background went on without, until somebody mends them",
    labels: ["reactor"],
    rows: ({ reactors }) =>
      reactors.standing().map(({ name, failed }) => [{ reactor: name }, failed]),
  },
]

/** Each instance: over all of them, so that there are not more rows than a reader can take. */
const everywhere = ({ services: { store, call } }: Gauged): readonly Cx[] =>
  instanceIds(store).map((id) => call(id, "metrics"))

const instanceGauges: readonly Look[] = [
  {
    name: "latchkey_instances",
    help: "Instances that are set up",
    rows: ({ services }) => [[{}, instanceIds(services.store).length]],
  },
  {
    name: "latchkey_messages_waiting",
    help: "Mails and SMS that wait to go out, or failed and can be sent again",
    labels: ["status"],
    rows: (gauged) => {
      const sums = { queued: 0, failed: 0 }
      for (const cx of everywhere(gauged)) {
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
    rows: (gauged) => {
      const since = new Map<string, number>()
      for (const cx of everywhere(gauged)) {
        for (const { status, algorithm, changed } of listWebKeys(cx)) {
          const oldest = Math.min(since.get(algorithm) ?? changed, changed)
          if (status === "active") since.set(algorithm, oldest)
        }
      }
      const now = gauged.services.clock.now()
      return [...since].map(([algorithm, from]) => [{ algorithm }, (now - from) / 1000])
    },
  },
]

/** All of them. */
export const gauges: readonly Look[] = [
  ...storeGauges,
  ...nodeGauges,
  ...workGauges,
  ...instanceGauges,
]
