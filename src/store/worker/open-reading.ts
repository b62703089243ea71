import { Database } from "bun:sqlite"
import { Fault } from "../../kernel/fault.ts"
import { diskFaultOf, diskTroubleOf } from "../disk-error.ts"
import { shrinkMemory } from "../log/database.ts"
import { upcaster, writtenOf } from "../log/event-types.ts"
import { namesOf } from "../log/row.ts"
import { type OpenOptions, todaysLog } from "../open.ts"
import { horizonOf } from "../retention/horizon.ts"
import { type Reader, readerOf } from "../search/reader.ts"
import { type States, statesOf } from "../state/state.ts"
import { Store } from "../store.ts"
import type { ReadingWorker } from "../store-parts.ts"
import { placedBefore } from "../view/generation.ts"
import type { View } from "../view/view.ts"
import { type ReadViews, servingOf } from "../view/views.ts"
import { readingLog } from "./reading-log.ts"
import { commitsOf, type Sight, sightOf } from "./sight.ts"
import type { Writer } from "./writer.ts"

type Options = Pick<OpenOptions, "file" | "aggregates" | "views" | "textIndexFrom"> & {
  /** Which of the processes that read the file, from 1 on. */
  readonly part: number
}

/** How long a read waits while the writer cuts the WAL, or sees to a WAL that it found. */
const busyMs = 2000

/**
 * The store on a file that another process has open and writes: what is decided goes to that one,
 * and all that is read comes from the file. Whatever anybody was told is there.
 */
export function openReading(options: Options, writer: Writer): Store {
  const { file, part } = options
  const hasMoved = commitsOf(file)
  const database = new Database(file, { readonly: true, strict: true })
  for (const pragma of ["temp_store = MEMORY", "cache_size = -16384"]) {
    database.run(`PRAGMA ${pragma}`)
  }
  database.run(`PRAGMA busy_timeout = ${busyMs}`)
  let losses = 0
  // Before anything is read: what is written from here on is learnt of.
  const sight = sightOf(database, hasMoved, {
    written: (events) => {
      for (const { position, instance, id, ...codes } of events) {
        const isKnown = names.has(codes.stream) && names.has(codes.type)
        if (!isKnown) names.again()
        const [stream, type] = [names.name(codes.stream), names.name(codes.type)]
        written.event({ stream, type }, position)
        states.outdated(instance, stream, id)
      }
    },
    lost: () => {
      losses++
      names.again()
      states.forget()
      horizon = horizonOf(database)
    },
    turned: () => views.turn(),
  })
  const names = namesOf(database)
  const upcast = upcaster(options.aggregates)
  const states = statesOf({ ...options, database, names, upcast, reading: sight.open })
  const views = readViewsOf(database, options.views)
  const written = writtenOf()
  let horizon = horizonOf(database)
  const raw = readingLog({ database, names, sight, writer, written, losses: () => losses })
  const log = todaysLog(raw, upcast, views.looks.generation)
  const reader = readerOf({
    file,
    own: `${file}-worker-${part}`,
    rowsMin: options.textIndexFrom,
  })
  const close = async () => {
    await reader.close()
    sight.renew()
    database.close()
  }
  const faultOf = faultsTo(writer, file)
  return new Store({
    ...upkeepElsewhere,
    log,
    database,
    faultOf,
    close,
    flush: () => undefined,
    states: seenStates(states, sight),
    views: seenViews({ ...views.looks, ...views.making(writer) }, sight),
    reader: seenReader(reader, sight),
    isForgotten: (...asked) => {
      sight.look()
      return horizon.isForgotten(...asked)
    },
    scrub: () => reader.scrub(views.looks.texts),
    shrink: () => shrinkMemory(database),
    worker: { writer, part, renew: sight.renew, ...restsOf(reader, sight) },
  })
}

/** What the disk did not do here is told the writer, which watches it. */
const faultsTo =
  (writer: Writer, file: string): Store["faultOf"] =>
  (cause) => {
    const fault = cause instanceof Fault ? cause : diskFaultOf(cause, file)
    // Nobody waits for it, and a writer that is gone takes this process along.
    if (fault && diskTroubleOf(fault, file)) writer.trouble(fault).catch(() => undefined)
    return fault
  }

/** The tables that the writer has made, and those that it puts in their place. */
function readViewsOf(database: Database, declared: readonly View[]) {
  let placed = placedBefore(database, declared)
  const { looks, turn } = servingOf(database, declared, placed.live)
  return {
    looks,
    turn: () => {
      placed = placedBefore(database, declared)
      turn(placed.live)
    },
    making: (writer: Writer): Pick<ReadViews, "rebuilding" | "again" | "rebuilt"> => ({
      rebuilding: () => placed.stale,
      rebuilt: () => Promise.resolve(),
      again: (name) => {
        if (!looks.names.includes(name)) return false
        // Nobody waits for it, and a writer that is gone takes this process along.
        writer.rebuild(name).catch(() => undefined)
        return true
      },
    }),
  }
}

const seenStates = (states: States, { look }: Sight): States => ({
  ...states,
  recall: (...of) => {
    look()
    return states.recall(...of)
  },
})

const seenViews = (views: ReadViews, { look, open }: Sight): ReadViews => ({
  ...views,
  get: (...what) => {
    open()
    return views.get(...what)
  },
  all: (...what) => {
    open()
    return views.all(...what)
  },
  sql: (query) => {
    look()
    return views.sql(query)
  },
  index: (...of) => {
    look()
    return views.index(...of)
  },
  generation: () => {
    look()
    return views.generation()
  },
})

/** What a thread has found may be newer than what was looked at meanwhile. */
function seenReader(reader: Reader, { renew }: Sight): Reader {
  const renewed = async <T>(found: Promise<T>): Promise<T> => {
    try {
      return await found
    } finally {
      renew()
    }
  }
  return {
    ...reader,
    read: (...what) => renewed(reader.read(...what)),
    positions: (window) => renewed(reader.positions(window)),
  }
}

/** How all that reads here comes to rest, for the writer to begin the WAL anew. */
function restsOf(reader: Reader, { renew }: Sight): Pick<ReadingWorker, "rest" | "hold" | "held"> {
  let held: PromiseWithResolvers<void> | undefined
  return {
    rest: reader.pause,
    hold: () => {
      const holding = Promise.withResolvers<void>()
      held = holding
      renew()
      return () => {
        if (held === holding) held = undefined
        holding.resolve()
      }
    },
    held: () => held?.promise,
  }
}

/** What only the process does that writes. */
const elsewhere = (): never => {
  throw new Error("only the process that writes the file does this")
}
const upkeepElsewhere = {
  prune: elsewhere,
  purge: elsewhere,
  exclusive: elsewhere,
  probe: elsewhere,
  inspect: elsewhere,
}
