import { Database } from "bun:sqlite"
import { Fault } from "../../kernel/fault.ts"
import { classifyDiskFailure, toDiskFault } from "../disk-error.ts"
import { shrinkMemory } from "../log/database.ts"
import { createUpcaster, createWriteCounter } from "../log/event-types.ts"
import { createNames } from "../log/row.ts"
import { createCurrentLog, type OpenOptions } from "../open.ts"
import { createHorizon } from "../retention/horizon.ts"
import { createReader, type Reader } from "../search/reader.ts"
import { createStates, type States } from "../state/state.ts"
import { Store } from "../store.ts"
import type { ReadingWorker } from "../store-parts.ts"
import { findPlacedViews } from "../view/generation.ts"
import type { View } from "../view/view.ts"
import { createLookups, type ReadViews } from "../view/views.ts"
import { createCommitDetector, createFileSnapshot, type FileSnapshot } from "./file-watch.ts"
import { createReadingLog } from "./reading-log.ts"
import type { Writer } from "./writer.ts"

type OpenReadingOptions = Pick<OpenOptions, "file" | "aggregates" | "views" | "textIndexFrom"> & {
  /** The number of the process, from 1. */
  readonly part: number
}

/** How long a read waits while the writer truncates or recovers the WAL. */
const busyMs = 2000

/**
 * Opens the store of a file that another process writes: transactions are sent to that process, and
 * reads use the file, which contains everything that was ever returned to a caller.
 */
export function openReadingStore(options: OpenReadingOptions, writer: Writer): Store {
  const { file, part } = options
  const hasMoved = createCommitDetector(file)
  const database = new Database(file, { readonly: true, strict: true })
  for (const pragma of ["temp_store = MEMORY", "cache_size = -16384"]) {
    database.run(`PRAGMA ${pragma}`)
  }
  database.run(`PRAGMA busy_timeout = ${busyMs}`)
  let losses = 0
  // Before the first read, so that all later writes are noticed.
  const sight = createFileSnapshot(database, hasMoved, {
    onWritten: (events) => {
      for (const { position, instance, id, ...codes } of events) {
        const isKnown = names.has(codes.stream) && names.has(codes.type)
        if (!isKnown) names.reload()
        const [stream, type] = [names.name(codes.stream), names.name(codes.type)]
        written.event({ stream, type }, position)
        states.invalidate(instance, stream, id)
      }
    },
    onInvalidated: () => {
      losses++
      names.reload()
      states.clearCache()
      horizon = createHorizon(database)
    },
    onTablesChanged: () => views.turn(),
  })
  const names = createNames(database)
  const upcast = createUpcaster(options.aggregates)
  const states = createStates({ ...options, database, names, upcast, reading: sight.openSnapshot })
  const views = createReadViews(database, options.views)
  const written = createWriteCounter()
  let horizon = createHorizon(database)
  const raw = createReadingLog({ database, names, sight, writer, written, losses: () => losses })
  const log = createCurrentLog(raw, upcast, views.looks.generation)
  const reader = createReader({
    file,
    own: `${file}-worker-${part}`,
    rowsMin: options.textIndexFrom,
  })
  const close = async () => {
    await reader.close()
    sight.invalidate()
    database.close()
  }
  const faultOf = reportFaultsTo(writer, file)
  return new Store({
    ...writerOnlyMaintenance,
    log,
    database,
    faultOf,
    close,
    flush: () => undefined,
    states: withFreshStates(states, sight),
    views: withFreshViews({ ...views.looks, ...views.making(writer) }, sight),
    reader: withFreshReader(reader, sight),
    isForgotten: (...parameters) => {
      sight.refresh()
      return horizon.isForgotten(...parameters)
    },
    scrub: () => reader.scrub(views.looks.texts),
    shrink: () => shrinkMemory(database),
    worker: { writer, part, renew: sight.invalidate, ...createPauses(reader, sight) },
  })
}

/** Reports disk failures to the writer, which decides on readiness. */
const reportFaultsTo =
  (writer: Writer, file: string): Store["faultOf"] =>
  (cause) => {
    const fault = cause instanceof Fault ? cause : toDiskFault(cause, file)
    // Nothing waits for it, and this process ends when the writer ends.
    if (fault && classifyDiskFailure(fault, file)) writer.trouble(fault).catch(() => undefined)
    return fault
  }

/** The tables that the writer has created, including later replacements. */
function createReadViews(database: Database, declaredViews: readonly View[]) {
  let placed = findPlacedViews(database, declaredViews)
  const { looks, turn } = createLookups(database, declaredViews, placed.live)
  return {
    looks,
    turn: () => {
      placed = findPlacedViews(database, declaredViews)
      turn(placed.live)
    },
    making: (writer: Writer): Pick<ReadViews, "rebuilding" | "again" | "rebuilt"> => ({
      rebuilding: () => placed.stale,
      rebuilt: () => Promise.resolve(),
      again: (name) => {
        if (!looks.names.includes(name)) return false
        // Nothing waits for it, and this process ends when the writer ends.
        writer.rebuild(name).catch(() => undefined)
        return true
      },
    }),
  }
}

const withFreshStates = (states: States, { refresh }: FileSnapshot): States => ({
  ...states,
  readCached: (...of) => {
    refresh()
    return states.readCached(...of)
  },
})

const withFreshViews = (
  views: ReadViews,
  { refresh, openSnapshot: open }: FileSnapshot,
): ReadViews => ({
  ...views,
  get: (...parameters) => {
    open()
    return views.get(...parameters)
  },
  all: (...parameters) => {
    open()
    return views.all(...parameters)
  },
  sql: (query) => {
    refresh()
    return views.sql(query)
  },
  index: (...of) => {
    refresh()
    return views.index(...of)
  },
  generation: () => {
    refresh()
    return views.generation()
  },
})

/** The thread's result can be newer than what this process has seen. */
function withFreshReader(reader: Reader, { invalidate: renew }: FileSnapshot): Reader {
  const refreshed = async <T>(promise: Promise<T>): Promise<T> => {
    try {
      return await promise
    } finally {
      renew()
    }
  }
  return {
    ...reader,
    read: (...parameters) => refreshed(reader.read(...parameters)),
    positions: (window) => refreshed(reader.positions(window)),
  }
}

/** Pauses all reading here, so that the writer can restart the WAL. */
function createPauses(
  reader: Reader,
  { invalidate: renew }: FileSnapshot,
): Pick<ReadingWorker, "rest" | "hold" | "held"> {
  let held: PromiseWithResolvers<void> | undefined
  return {
    rest: reader.pause,
    hold: () => {
      const holdGate = Promise.withResolvers<void>()
      held = holdGate
      renew()
      return () => {
        if (held === holdGate) held = undefined
        holdGate.resolve()
      }
    },
    held: () => held?.promise,
  }
}

/** Operations that only the writer process supports. */
const throwWriterOnly = (): never => {
  throw new Error("only the writer process supports this")
}
const writerOnlyMaintenance = {
  prune: throwWriterOnly,
  purge: throwWriterOnly,
  exclusive: throwWriterOnly,
  probe: throwWriterOnly,
  inspect: throwWriterOnly,
}
