import { statSync } from "node:fs"
import { Gauge, type Registry } from "prom-client"
import { passwordLoad } from "../../domain/credential/index.ts"
import { instanceIds } from "../../domain/instance/index.ts"
import { listWebKeys } from "../../domain/key/index.ts"
import { countMessages } from "../../domain/message/index.ts"
import type { Cx, Reactors } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"

/** The sources of the gauges. */
export type GaugeSources = {
  readonly services: Pick<ServerServices, "store" | "clock" | "call" | "notReady">
  readonly reactors: Pick<Reactors, "standing">
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number]

type GaugeSpec = {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  /** Omitted for metrics that every process has. */
  readonly isAvailable?: (gauged: GaugeSources) => boolean
  readonly read: (gauged: GaugeSources) => readonly Sample[]
}

/** Registers gauges, whose values are computed when the metrics are requested. */
export function addGauges(registry: Registry, gauged: GaugeSources): void {
  for (const { name, help, labels = [], isAvailable, read } of gauges) {
    if (isAvailable && !isAvailable(gauged)) continue
    const gauge = new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers: [registry],
      collect: () => {
        gauge.reset()
        for (const [labelled, value] of read(gauged)) gauge.set({ ...labelled }, value)
      },
    })
  }
}

const fileSizeSample = (file: string): readonly Sample[] => [
  [{}, statSync(file, { throwIfNoEntry: false })?.size ?? 0],
]

const storeGauges: readonly GaugeSpec[] = [
  {
    name: "latchkey_ready",
    help: "Whether this process is ready for requests, as reported by /debug/ready",
    read: ({ services }) => [[{}, services.notReady() === undefined ? 1 : 0]],
  },
  {
    name: "latchkey_log_position",
    help: "The position of the newest durable event",
    read: ({ services }) => [[{}, services.store.log.durable()]],
  },
  {
    name: "latchkey_database_bytes",
    help: "The size of the database without its WAL, in bytes",
    read: ({ services }) => fileSizeSample(services.store.database.filename),
  },
  {
    name: "latchkey_wal_bytes",
    help: "The size of the WAL in bytes; it does not shrink when it is reset",
    read: ({ services }) => fileSizeSample(`${services.store.database.filename}-wal`),
  },
]

/** A gauge of a node that shares a log; each node reports only itself. */
const nodeGauge = (
  name: string,
  help: string,
  of: (node: Node) => number | undefined,
): GaugeSpec => ({
  name,
  help,
  isAvailable: ({ services }) => services.store.node !== undefined,
  read: ({ services: { store } }) => {
    const value = store.node && of(store.node)
    return value === undefined ? [] : [[{}, value]]
  },
})

type Node = NonNullable<GaugeSources["services"]["store"]["node"]>

const selfOf = (node: Node) => node.standing().find(({ isSelf }) => isSelf)

const nodeGauges: readonly GaugeSpec[] = [
  nodeGauge(
    "latchkey_nodes",
    "Nodes that share the log and reported within ten seconds",
    (node) => node.standing().filter(({ seenMs }) => seenMs < 10_000).length,
  ),
  nodeGauge(
    "latchkey_node_unseen_seconds",
    "Seconds since this node has seen the end of the log; the node is not ready above one",
    (node) => node.unseen() / 1000,
  ),
  nodeGauge(
    "latchkey_node_behind_events",
    "Events in the log that this node has not applied yet, updated every second",
    (node) => selfOf(node)?.behind,
  ),
  nodeGauge(
    "latchkey_node_works",
    "Whether this node is the leader, which sends messages, calls targets and rotates keys",
    (node) => {
      const self = selfOf(node)
      return self && (self.leads ? 1 : 0)
    },
  ),
]

const hashingSamples = (of: "busy" | "waiting") => (): readonly Sample[] =>
  Object.entries(passwordLoad()).map(([kind, load]) => [{ kind }, load[of]])

const workGauges: readonly GaugeSpec[] = [
  {
    name: "latchkey_hashing_busy",
    help: "Password hashes being computed; foreign ones were imported with their algorithm",
    labels: ["kind"],
    read: hashingSamples("busy"),
  },
  {
    name: "latchkey_hashing_waiting",
    help: "Password hashes waiting to be computed; above 256 (foreign: 32) sign-ins are rejected",
    labels: ["kind"],
    read: hashingSamples("waiting"),
  },
  {
    name: "latchkey_reactor_lag_events",
    help: "Events that background work has not processed yet",
    labels: ["reactor"],
    read: ({ services, reactors }) => {
      const head = services.store.log.durable()
      return reactors
        .standing()
        .map(({ name, position }) => [{ reactor: name }, Math.max(head - position, 0)])
    },
  },
  {
    name: "latchkey_failed_events",
    help: "Events that background work skipped because of errors",
    labels: ["reactor"],
    read: ({ reactors }) =>
      reactors.standing().map(({ name, failed }) => [{ reactor: name }, failed]),
  },
]

/** Aggregated over all instances to limit the number of series. */
const allInstances = ({ services: { store, call } }: GaugeSources): readonly Cx[] =>
  instanceIds(store).map((id) => call(id, "metrics"))

const instanceGauges: readonly GaugeSpec[] = [
  {
    name: "latchkey_instances",
    help: "Configured instances",
    read: ({ services }) => [[{}, instanceIds(services.store).length]],
  },
  {
    name: "latchkey_messages_waiting",
    help: "Emails and SMS that are queued or have failed",
    labels: ["status"],
    read: (gauged) => {
      const sums = { queued: 0, failed: 0 }
      for (const cx of allInstances(gauged)) {
        const { queued, failed } = countMessages(cx)
        sums.queued += queued
        sums.failed += failed
      }
      return Object.entries(sums).map(([status, count]) => [{ status }, count])
    },
  },
  {
    name: "latchkey_signing_key_age_seconds",
    help: "Age of the oldest active signing key in seconds, by algorithm",
    labels: ["algorithm"],
    read: (gauged) => {
      const since = new Map<string, number>()
      for (const cx of allInstances(gauged)) {
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

/** All gauges. */
export const gauges: readonly GaugeSpec[] = [
  ...storeGauges,
  ...nodeGauges,
  ...workGauges,
  ...instanceGauges,
]
