import type { Database } from "bun:sqlite"
import { Fault } from "../kernel/fault.ts"
import type { AnyAggregate } from "./aggregate.ts"
import { type Checkpointer, checkpointGate, checkpointWorker, type Gate } from "./checkpoint.ts"
import { type Opened, openDatabase } from "./database.ts"
import { diskFaultOf, diskTroubleOf, tryToWrite } from "./disk-error.ts"
import { commitIsDurable, type Durability, sharedSync } from "./durability.ts"
import { horizonOf } from "./horizon.ts"
import { inspector } from "./inspection.ts"
import { kindsOf, upcaster } from "./kind.ts"
import type { Apply, Log, LogEvent } from "./log.ts"
import type { Mark } from "./mark.ts"
import { isPassing, patiently } from "./patience.ts"
import { type PruneParts, prunerOf } from "./prune.ts"
import type { Replay, Slice } from "./rebuild.ts"
import { type Refolded, refold } from "./refold.ts"
import { damagedError, decode, type EventRow, headOf, namesOf } from "./row.ts"
import { readerOf } from "./search/reader.ts"
import { sqliteLog } from "./sqlite-log.ts"
import { statesOf } from "./state.ts"
import { type Beside, Store } from "./store.ts"
import { sweeperOf } from "./sweep.ts"
import type { View } from "./view.ts"
import { type Inspecting, viewInspector } from "./view-inspection.ts"
import { viewsOf } from "./views.ts"

export type OpenOptions = {
  /** The database file; its folder exists and this process owns it. */
  readonly file: string
  readonly aggregates: readonly AnyAggregate[]
  readonly views: readonly View[]
  /** A sync or a checkpoint failed: nobody knows what is on disk, so the process must end. */
  readonly fatal: (cause: Error) => void
  /** A view can't be rebuilt, or not now; the node isn't ready. */
  readonly notReady: (view: string, cause: unknown) => void
  /** It can again. */
  readonly ready?: (view: string) => void
  /** The disk did not do what somebody asked of it; they have been told. */
  readonly trouble?: (fault: Fault) => void
  /** States had to be folded anew before this start; it took that much longer. */
  readonly refolded?: (what: Refolded) => void
}

/**
 * Opens the store, or makes it. Faults with one plain line, and touches nothing, when the file is
 * damaged, is not one of ours, or was written by a newer Latchkey.
 */
export function openStore(options: OpenOptions): Store {
  const opened = openDatabase(options.file, options.aggregates)
  try {
    const store = storeOn(opened, options)
    if (opened.trouble) options.trouble?.(opened.trouble)
    return store
  } catch (cause) {
    opened.database.close()
    opened.mark.close()
    throw cause
  }
}

function storeOn({ database, mark }: Opened, options: OpenOptions): Store {
  const names = namesOf(database)
  const kinds = kindsOf(database)
  const upcast = upcaster(options.aggregates)
  const states = statesOf({ ...options, database, names, upcast })
  const head = headOf(database)
  const refolded = refold({ ...options, database, names, states, upcast })
  if (refolded.events > 0) options.refolded?.(refolded)
  const durability =
    process.platform === "linux"
      ? sharedSync(`${options.file}-wal`, head, { failed: options.fatal, mark })
      : commitIsDurable(head)
  const faultOf = (cause: unknown): Fault | undefined => {
    const fault = cause instanceof Fault ? cause : diskFaultOf(cause, options.file)
    if (fault && diskTroubleOf(fault, options.file)) options.trouble?.(fault)
    return fault
  }
  const worker = checkpointWorker(options.file, { failed: options.fatal, refused: faultOf })
  const reader = readerOf(options.file)
  const copying = { ...marked(worker, mark, durability), pause: reader.pause }
  const gate = checkpointGate(copying, () => raw.flush())
  const apply: Apply = (event, folded) => {
    states.apply(event, folded)
    views.apply(event)
  }
  const raw = sqliteLog({ database, names, kinds, gate, durability, apply, head, faultOf })
  let drops = 0
  const log = todaysLog(raw, upcast, () => drops)
  const written = database.prepare<EventRow, [number, number]>(
    "SELECT * FROM event WHERE position > ? ORDER BY position LIMIT ?",
  )
  const beside = besides(gate, options.file)
  const slice = slices(beside, gate, raw.flush)
  const replay: Replay = (position, limit) =>
    written.all(position, limit).map((row) => upcast(decode(row, names)))
  const views = viewsOf({
    database,
    views: options.views,
    kindOf: states.known,
    replay,
    slice,
    failed: options.notReady,
    recovered: options.ready ?? (() => undefined),
  })
  const viewInspection = viewInspector({ database, replay, slice, ...views })
  const dropped: PruneParts["dropped"] = (streams) => {
    drops++
    viewInspection.dropped(streams)
  }
  const horizon = horizonOf(database)
  const parts = { ...options, database, names, states, views, slice, dropped, horizon }
  const [prune, sweep] = [prunerOf(parts), sweeperOf(parts)]
  const inspection = inspector(options.file)
  const close = async () => {
    inspection.stop()
    await views.close()
    await viewInspection.stop()
    await reader.close()
    await log.close()
    if (await mark.release()) emptyWal(database)
    database.close()
    mark.close()
  }
  const probe = () => slice(() => touch(database))
  const { cleanse } = gate
  const inspect = inspecting(inspection, viewInspection, faultOf)
  const reads = { reader, flush: raw.flush }
  const work = { ...horizon, ...reads, prune, sweep, cleanse, beside, close }
  return new Store({ log, database, states, views, inspect, probe, faultOf, ...work })
}

/** The log as this version reads it; what was dropped changes it, too. */
function todaysLog(raw: Log, upcast: (event: LogEvent) => LogEvent, drops: () => number): Log {
  return {
    ...raw,
    changes: () => raw.changes() + drops(),
    changesOf: (names) => raw.changesOf(names) + drops(),
    read: async (position, limit) => (await raw.read(position, limit)).map(upcast),
    history: async (window) => (await raw.history(window)).map(upcast),
    find: async (...what) => {
      const { events, upTo } = await raw.find(...what)
      return { events: events.map(upcast), upTo }
    },
  }
}

/** What an inspection finds, as a fault that readiness learns of. */
function inspecting(
  { inspect }: ReturnType<typeof inspector>,
  views: ReturnType<typeof viewInspector>,
  faultOf: Store["faultOf"],
) {
  return async (how: Inspecting): Promise<Fault | undefined> => {
    const { damage, refused } = await inspect(how.rest)
    if (damage !== undefined) return faultOf(damagedError(damage))
    if (refused) return faultOf(Object.assign(new Error(refused.message), refused))
    try {
      await views.inspect(how)
      return undefined
    } catch (cause) {
      const fault = faultOf(cause)
      if (!fault) throw cause
      return fault
    }
  }
}

/** A connection whose statements are not collected yet closes later, and the WAL would stay. */
function emptyWal(database: Database): void {
  try {
    database.run("PRAGMA wal_checkpoint(TRUNCATE)")
  } catch (cause) {
    // It has everything; the next start copies it, perhaps to a roomier disk.
    if (!isPassing(cause, database.filename)) throw cause
  }
}

/** Writes a little, to see whether the disk takes it. */
function touch(database: Database): void {
  tryToWrite(database.filename)
  database.run(
    `INSERT INTO meta (key, value) VALUES ('probed', 1)
     ON CONFLICT DO UPDATE SET value = excluded.value`,
  )
}

/** Cuts the WAL only once the mark says that it may be cut, of all that had been written. */
const marked = (worker: Checkpointer, mark: Mark, durability: Durability): Checkpointer => ({
  ...worker,
  empty: async () => {
    await durability.settle()
    if (await mark.release()) return worker.empty()
    await worker.passive()
    return false
  },
})

/** What is written while a checkpoint cuts the WAL would be refused, so it waits. */
const besides =
  (gate: Gate, file: string): Beside =>
  async (work) => {
    for (let held = gate.open(); held; held = gate.open()) await held
    return patiently(file, work)
  }

/** Work beside the log: it lets others run first, and keeps out while a checkpoint finishes. */
const slices =
  (beside: Beside, gate: Gate, flush: () => void): Slice =>
  async (work, wrote = () => true) => {
    await new Promise((resolve) => setImmediate(resolve))
    return beside(() => {
      flush()
      const result = work()
      if (wrote(result)) gate.committed(sliceWeight)
      return result
    })
  }
/** What a slice counts towards the next checkpoint, in events. */
const sliceWeight = 100
