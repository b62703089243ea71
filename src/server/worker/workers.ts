import type { Registry } from "prom-client"
import type { StartInput } from "../../boot/running.ts"
import { startError } from "../../boot/start-error.ts"
import { createSlotServer } from "../../domain/lockout/index.ts"
import { countRequest } from "../../domain/quota/index.ts"
import { type Clock, systemClock, withTimeout } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import { version } from "../../kernel/version.ts"
import { setProcessCount } from "../../runtime/cores.ts"
import {
  type Channel,
  createWriterHandlers,
  type PausedReaders,
  type ReaderProcesses,
} from "../../store/index.ts"
import type { ObservedDoctorRequest } from "../operator/doctor.ts"
import type { ServerServices } from "../services.ts"
import { type SetupToken, setupHandlers } from "../setup/setup-token.ts"
import { startWorkerProcess } from "./child.ts"
import { startReadinessNotices } from "./readiness-notice.ts"
import { createSlot, ignoreErrors, type WorkerSlot } from "./slot.ts"
import { createWorkerStart } from "./start-message.ts"
import { createUsedOnce } from "./used-once.ts"

/** The worker processes; only this process writes. */
export type Workers = {
  /** The workers in the form that the store needs. */
  readonly readers: ReaderProcesses
  /**
   * Starts the workers and restarts those that end; resolves when all are serving or have failed.
   */
  readonly begin: (services: ServerServices, input: WorkersInput) => Promise<void>
  /** Makes the workers ask all clients to close their connections. */
  readonly leave: () => Promise<void>
  /** Makes the workers complete running requests and end. */
  readonly stop: () => Promise<void>
  /** The metrics of all processes, with this one as worker 0. */
  readonly metered: (own: Registry) => Pick<Registry, "metrics" | "contentType">
}

type WorkersInput = {
  /** The shared port. */
  readonly port: number
  readonly upstream: string
  /** Called when a worker observes a request that can be awaited. */
  readonly came: (observed: ObservedDoctorRequest) => boolean
  readonly setupToken: SetupToken
}

/** How long the writer waits for running queries; otherwise the WAL is reset later. */
const queryWaitMsMax = 5000
const holdSeconds = 5
const leaveSeconds = 5
/** Scrubbing waits for queries and processes an index in steps of a few milliseconds. */
const scrubSeconds = 60
const metricsMsMax = 2000

/** Undefined if this process serves alone. */
export function createWorkers(start: StartInput): Workers | undefined {
  const count = start.config.workers - 1
  if (count < 1) return undefined
  if (process.platform !== "linux") {
    throw startError(
      "workers_elsewhere",
      "several workers require a shared port, which only Linux supports",
    )
  }
  setProcessCount(start.config.workers)
  const spendOnce = createUsedOnce(systemClock, start.config.workers)
  let slots: readonly WorkerSlot[] = []
  const working: { readonly stop: () => Promise<void> }[] = []
  const lines = () => slots.flatMap((slot) => slot.channel() ?? [])
  return {
    readers: {
      spendOnce,
      rest: () => waitForQueries(slots, systemClock),
      scrub: async () => {
        await Promise.all(slots.map((slot) => slot.request("scrub", scrubSeconds)))
      },
    },
    begin: async (services, input) => {
      const { store, log, notReady } = services
      const { port, upstream, came, setupToken } = input
      const written = createWriterHandlers(store, spendOnce)
      const handlers = {
        ...written,
        ...setupHandlers(setupToken),
        came,
        count: (instance: string) => countRequest(services.call(instance, "")),
      }
      slots = Array.from({ length: count }, (_, at) => {
        const part = at + 1
        const createStartMessage = () => ({
          ...createWorkerStart(start, { part, version, port, upstream }),
          notReady: notReady(),
        })
        const child = () => {
          const { gone, ...turns } = createSlotServer(services)
          const started = startWorkerProcess(start, { ...handlers, ...turns })
          void started.exited.then(gone)
          return started
        }
        return createSlot({ part, log, clock: systemClock, start: child, createStartMessage })
      })
      await Promise.all(slots.map((slot) => slot.begin()))
      working.push(startReadinessNotices(notReady, lines))
    },
    leave: async () => {
      await Promise.all(slots.map((slot) => slot.request("leave", leaveSeconds)))
    },
    stop: async () => {
      await Promise.all([...working, ...slots].map((each) => each.stop()))
    },
    metered: (own) => {
      own.setDefaultLabels({ worker: "0" })
      return { contentType: own.contentType, metrics: () => aggregateMetrics(own, lines()) }
    },
  }
}

/**
 * Resolves when the queries of the workers are complete. Does not wait for slow ones: while they
 * read, the WAL can't be reset.
 */
export async function waitForQueries(
  slots: readonly Pick<WorkerSlot, "channel" | "request">[],
  clock: Clock,
): Promise<PausedReaders> {
  const lines = slots.flatMap((slot) => slot.channel() ?? [])
  const work = Promise.all(lines.map((line) => ignoreErrors(line.ask("rest"))))
  const isRest = await ignoreErrors(
    withTimeout(clock, queryWaitMsMax, { work, timeoutError: queriesTooLongError }),
  )
  return {
    hold: async () => {
      if (isRest) await Promise.all(slots.map((slot) => slot.request("hold", holdSeconds)))
    },
    readOn: () => {
      for (const slot of slots) {
        const line = slot.channel()
        if (line) void ignoreErrors(line.ask("go"))
      }
    },
  }
}

const queriesTooLongError = () =>
  new Fault("deadline_exceeded", "worker.restless", "the queries take too long")

const noMetricsError = () =>
  new Fault("deadline_exceeded", "worker.silent", "the worker did not return its metrics")

/**
 * A worker that is restarted starts at 0 under its own label; in a sum it would look like a reset.
 */
async function aggregateMetrics(own: Registry, lines: readonly Channel[]): Promise<string> {
  const { AggregatorRegistry } = await import("prom-client")
  const responses = lines.map((line) => {
    const work = line.ask<object[]>("metrics")
    return ignoreErrors(
      withTimeout(systemClock, metricsMsMax, { work, timeoutError: noMetricsError }),
    )
  })
  const all = [await own.getMetricsAsJSON(), ...(await Promise.all(responses))]
  // The labels distinguish the processes, so each value is a sum of one.
  const apart = all.map((each = []) => each.map((metric) => ({ ...metric, aggregator: "sum" })))
  return AggregatorRegistry.aggregate(apart).metrics()
}
