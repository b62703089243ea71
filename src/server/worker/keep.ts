import type { Registry } from "prom-client"
import type { Start } from "../../boot/running.ts"
import { startError } from "../../boot/start-error.ts"
import { turnsFor } from "../../domain/lockout/index.ts"
import { countRequest } from "../../domain/quota/index.ts"
import { type Clock, systemClock, within } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import { version } from "../../kernel/version.ts"
import { shareCores } from "../../runtime/cores.ts"
import { type Channel, type Readers, type Resting, writingHandlers } from "../../store/index.ts"
import type { Came } from "../operator/doctor.ts"
import type { ServerServices } from "../services.ts"
import { type SetupToken, setupHandlers } from "../setup/setup-token.ts"
import { beginningOf } from "./beginning.ts"
import { startChild } from "./child.ts"
import { quietly, type Slot, slotOf } from "./slot.ts"
import { spentOnce } from "./spent.ts"
import { tellingReadiness } from "./telling.ts"

/** The processes that answer beside this one, which alone writes. */
export type Workers = {
  /** As the store of this process sees them. */
  readonly readers: Readers
  /** Starts them, and again whichever ends; resolves when all answer, or none is waited for. */
  readonly begin: (services: ServerServices, how: How) => Promise<void>
  /** Has them ask every client to close its connection. */
  readonly leave: () => Promise<void>
  /** Has them answer what is in flight, and end. */
  readonly stop: () => Promise<void>
  /** What each has counted, this one as worker 0. */
  readonly metered: (own: Registry) => Pick<Registry, "metrics" | "contentType">
}

type How = {
  /** The one that all listen at. */
  readonly port: number
  readonly upstream: string
  /** A request that may be awaited has come to one of them. */
  readonly came: (what: Came) => boolean
  readonly setupToken: SetupToken
}

/** How long the writer waits for searches; then the WAL begins anew some other time. */
const restMsMax = 5000
const holdSeconds = 5
const leaveSeconds = 5
/** It comes after the searches that wait, and has an index go on a few milliseconds at a time. */
const scrubSeconds = 60
const metricsMsMax = 2000

/** Nothing where this process answers alone. */
export function keptWorkers(start: Start): Workers | undefined {
  const count = start.config.workers - 1
  if (count < 1) return undefined
  if (process.platform !== "linux") {
    throw startError("workers_elsewhere", "several workers share a port as Linux alone has it")
  }
  shareCores(start.config.workers)
  const spendOnce = spentOnce(systemClock, start.config.workers)
  let slots: readonly Slot[] = []
  const working: { readonly stop: () => Promise<void> }[] = []
  const lines = () => slots.flatMap((slot) => slot.line() ?? [])
  return {
    readers: {
      spendOnce,
      rest: () => restOf(slots, systemClock),
      scrub: async () => {
        await Promise.all(slots.map((slot) => slot.ask("scrub", scrubSeconds)))
      },
    },
    begin: async (services, how) => {
      const { store, log, notReady } = services
      const { port, upstream, came, setupToken } = how
      const written = writingHandlers(store, spendOnce)
      const handlers = {
        ...written,
        ...setupHandlers(setupToken),
        came,
        count: (instance: string) => countRequest(services.call(instance, "")),
      }
      slots = Array.from({ length: count }, (_, at) => {
        const part = at + 1
        const beginning = () => ({
          ...beginningOf(start, { part, version, port, upstream }),
          notReady: notReady(),
        })
        const child = () => {
          const { gone, ...turns } = turnsFor(services)
          const started = startChild(start, { ...handlers, ...turns })
          void started.exited.then(gone)
          return started
        }
        return slotOf({ part, log, clock: systemClock, start: child, beginning })
      })
      await Promise.all(slots.map((slot) => slot.begin()))
      working.push(tellingReadiness(notReady, lines))
    },
    leave: async () => {
      await Promise.all(slots.map((slot) => slot.ask("leave", leaveSeconds)))
    },
    stop: async () => {
      await Promise.all([...working, ...slots].map((each) => each.stop()))
    },
    metered: (own) => {
      own.setDefaultLabels({ worker: "0" })
      return { contentType: own.contentType, metrics: () => metricsOf(own, lines()) }
    },
  }
}

/**
 * Resolves when their searches have come to their end. Where one takes long nobody is held up for
 * it: as long as it reads, the WAL can't begin anew.
 */
export async function restOf(
  slots: readonly Pick<Slot, "line" | "ask">[],
  clock: Clock,
): Promise<Resting> {
  const lines = slots.flatMap((slot) => slot.line() ?? [])
  const work = Promise.all(lines.map((line) => quietly(line.ask("rest"))))
  const isRest = await quietly(within(clock, restMsMax, { work, late: restlessError }))
  return {
    hold: async () => {
      if (isRest) await Promise.all(slots.map((slot) => slot.ask("hold", holdSeconds)))
    },
    readOn: () => {
      for (const slot of slots) {
        const line = slot.line()
        if (line) void quietly(line.ask("go"))
      }
    },
  }
}

const restlessError = () =>
  new Fault("deadline_exceeded", "worker.restless", "searches take longer than anybody waits")

const silentError = () =>
  new Fault("deadline_exceeded", "worker.silent", "it does not tell what it has counted")

/** One that ends begins at nothing, as its label tells: a sum would seem to have begun anew. */
async function metricsOf(own: Registry, lines: readonly Channel[]): Promise<string> {
  const { AggregatorRegistry } = await import("prom-client")
  const asked = lines.map((line) => {
    const work = line.ask<object[]>("metrics")
    return quietly(within(systemClock, metricsMsMax, { work, late: silentError }))
  })
  const all = [await own.getMetricsAsJSON(), ...(await Promise.all(asked))]
  // Their labels keep them apart: there is one of each to be "summed".
  const apart = all.map((each = []) => each.map((metric) => ({ ...metric, aggregator: "sum" })))
  return AggregatorRegistry.aggregate(apart).metrics()
}
