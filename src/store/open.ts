import type { Database } from "bun:sqlite"
import { Fault } from "../kernel/fault.ts"
import type { AnyAggregate } from "./aggregate.ts"
import { diskFaultOf, diskTroubleOf, tryToWrite } from "./disk-error.ts"
import { inspector } from "./inspection.ts"
import { type Checkpointer, checkpointGate, checkpointWorker, type Gate } from "./log/checkpoint.ts"
import { type Opened, openDatabase, shrinkMemory } from "./log/database.ts"
import { commitIsDurable, type Durability, sharedSync } from "./log/durability.ts"
import { eventTypesOf, upcaster } from "./log/event-types.ts"
import type { Apply, Log, LogEvent, NewEvent } from "./log/log.ts"
import { framesIn, type Mark } from "./log/mark.ts"
import { damagedError, decode, type EventRow, headOf, type Names, namesOf } from "./log/row.ts"
import { sqliteLog } from "./log/sqlite-log.ts"
import { isPassing, patiently } from "./patience.ts"
import { horizonOf } from "./retention/horizon.ts"
import { type PruneParts, prunerOf } from "./retention/prune.ts"
import { purgeOf } from "./retention/purge.ts"
import { readerOf } from "./search/reader.ts"
import {
  belong,
  belongingOf,
  type Joined,
  nodeOn,
  refuseNode,
  type Sharing,
} from "./shared/node.ts"
import type { SharedLog } from "./shared/shared-log.ts"
import { type Rebuilt, rebuildStates } from "./state/rebuild.ts"
import { statesOf } from "./state/state.ts"
import { Store } from "./store.ts"
import type { Exclusive } from "./store-parts.ts"
import { type Guard, guardOf, type Upgrading } from "./upgrade/before.ts"
import { type Inspecting, viewInspector } from "./view/inspection.ts"
import type { BackgroundChunk, Replay } from "./view/rebuild.ts"
import type { View } from "./view/view.ts"
import { viewsOf } from "./view/views.ts"
import { pausing, type Readers } from "./worker/readers.ts"

export type OpenOptions = {
  /** The database file; its folder exists and this process owns it. */
  readonly file: string
  /** Of a node's file, which is looked at alone: what others write comes no more. */
  readonly isCopy?: boolean
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
  /** From so many rows on a table gets an index of its texts; unless told, where that pays. */
  readonly textIndexFrom?: number
  /** States had to be folded anew before this start; it took that much longer. */
  readonly statesRebuilt?: (what: Rebuilt) => void
  /** Tables or states are of an older version: this is done before anybody is answered. */
  readonly upgrading?: (what: Upgrading) => void
  /** Learns of the events of each step, once they are on disk; for metrics. */
  readonly appended?: Appending | undefined
  /** Where other processes read the file, too. */
  readonly workers?: Readers | undefined
}

/** Events as they were appended: their payloads may be personal, their types are not. */
export type Appending = (events: readonly NewEvent[]) => void

/**
 * Opens the store, or makes it. Faults with one plain line, and touches nothing, when the file is
 * damaged, is not one of ours, or was written by a newer Latchkey. What an older one wrote is
 * copied before its tables change, and put back where they can't.
 */
export function openStore(options: OpenOptions): Store {
  if (options.isCopy) return opening(options)
  const guard = guardOf(options.file, { aggregates: options.aggregates, told: options.upgrading })
  try {
    const store = opening(options, guard.take)
    guard.done()
    return store
  } catch (cause) {
    throw guard.failed(cause) ?? cause
  }
}

function opening(options: OpenOptions, before?: Guard["take"]): Store {
  const opened = openDatabase(options.file, options.aggregates, before)
  try {
    if (!options.isCopy) refuseNode(opened.database)
    const store = storeOn(opened, options)
    if (opened.trouble) options.trouble?.(opened.trouble)
    return store
  } catch (cause) {
    opened.database.close()
    opened.mark.close()
    throw cause
  }
}

/**
 * The same for one of several nodes: `connect` joins the log that they share, of which the file has
 * a part. Resolves when it has all; faults where the file belongs to no log, or to another one.
 */
export async function openNode(
  options: OpenOptions,
  { connect, fresh, ...how }: Sharing,
): Promise<Store> {
  const opened = openDatabase(options.file, options.aggregates)
  let shared: SharedLog | undefined
  try {
    shared = await connect(belongingOf(opened.database, options.aggregates, fresh))
    belong(opened.database, shared)
    const store = storeOn(opened, options, { ...how, shared })
    if (opened.trouble) options.trouble?.(opened.trouble)
    await store.node?.caughtUp()
    return store
  } catch (cause) {
    await shared?.close()
    opened.database.close()
    opened.mark.close()
    throw cause
  }
}

/** The store on a file that is open; of a node, on the log that was joined, too. */
export function storeOn({ database, mark }: Opened, options: OpenOptions, joined?: Joined): Store {
  const names = namesOf(database)
  const eventTypes = eventTypesOf(database)
  const upcast = upcaster(options.aggregates)
  const states = statesOf({ ...options, database, names, upcast })
  const head = headOf(database)
  const statesRebuilt = rebuildStates({ ...options, database, names, states, upcast })
  if (statesRebuilt.events > 0) options.statesRebuilt?.(statesRebuilt)
  // What others have, too, is on disk with them.
  const durability = joined ? commitIsDurable(head) : durabilityOf(options, head, mark)
  const faultOf = faultsOf(options)
  const worker = checkpointWorker(options.file, { failed: options.fatal, refused: faultOf })
  const reader = readerOf({ file: options.file, rowsMin: options.textIndexFrom })
  const { workers: together } = options
  const copying = { ...marked(worker, mark, durability), pause: pausing(reader.pause, together) }
  const gate = checkpointGate(copying, () => raw.flush(), { frames: joined && framesIn(database) })
  const todays: Apply = (event, folded) => {
    states.apply(event, folded)
    views.apply(event)
  }
  // Events of others may be of an older version.
  const apply: Apply = joined ? (event, folded) => todays(upcast(event), folded) : todays
  const keeping = { database, names, eventTypes, gate, durability }
  const raw = sqliteLog({ ...keeping, apply, head, faultOf, appended: options.appended })
  let drops = 0
  const exclusive = exclusively(gate, options.file)
  const chunk = chunks(exclusive, gate, raw.flush)
  const replay = replayOf(database, names, upcast)
  const views = viewsOf({
    database,
    views: options.views,
    kindOf: states.known,
    replay,
    chunk,
    failed: options.notReady,
    recovered: options.ready ?? (() => undefined),
  })
  const viewInspection = viewInspector({ database, replay, chunk, ...views })
  const dropped: PruneParts["dropped"] = (streams) => {
    drops++
    viewInspection.dropped(streams)
  }
  const horizon = horizonOf(database)
  const pruning = { ...options, database, names, states, views, chunk, dropped, horizon }
  const following = joined && nodeOn({ ...joined, ...pruning, local: raw, faultOf })
  const log = todaysLog(following?.log ?? raw, upcast, () => drops + views.generation())
  const parts = { ...pruning, shared: following?.drops }
  const [prune, purge] = [prunerOf(parts), purgeOf(parts)]
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
  const small = { probe: () => chunk(() => touch(database)), shrink: () => shrinkMemory(database) }
  const scrub = () =>
    gate
      .scrub()
      .then(() => Promise.all([reader.scrub(views.texts), together?.scrub()]).then(nothing))
  const inspect = inspecting(inspection, viewInspection, faultOf)
  const reads = { reader, flush: raw.flush, pending: raw.pending }
  const work = { ...horizon, ...reads, prune, purge, scrub, exclusive, close, together }
  const { node } = following ?? {}
  return new Store({ log, database, states, views, inspect, ...small, faultOf, node, ...work })
}

const nothing = () => undefined

/** What the disk did not do is told whoever watches it, too. */
const faultsOf =
  ({ file, trouble }: OpenOptions): Store["faultOf"] =>
  (cause) => {
    const fault = cause instanceof Fault ? cause : diskFaultOf(cause, file)
    if (fault && diskTroubleOf(fault, file)) trouble?.(fault)
    return fault
  }

/** Reads what is written, on disk or not. */
function replayOf(database: Database, names: Names, upcast: (event: LogEvent) => LogEvent): Replay {
  const written = database.prepare<EventRow, [number, number]>(
    "SELECT * FROM event WHERE position > ? ORDER BY position LIMIT ?",
  )
  return (position, limit) => written.all(position, limit).map((row) => upcast(decode(row, names)))
}

const durabilityOf = ({ file, fatal }: OpenOptions, head: number, mark: Mark): Durability =>
  process.platform === "linux"
    ? sharedSync(`${file}-wal`, head, { failed: fatal, mark })
    : commitIsDurable(head)

/**
 * The log as this version reads it. What else changes answers is counted with it, or those that are
 * kept would stay: what was dropped, and tables that have taken the place of others.
 */
export function todaysLog(
  raw: Log,
  upcast: (event: LogEvent) => LogEvent,
  others: () => number,
): Log {
  return {
    ...raw,
    changes: () => raw.changes() + others(),
    changesOf: (names) => raw.changesOf(names) + others(),
    read: async (position, limit) => (await raw.read(position, limit)).map(upcast),
    at: async (positions) => (await raw.at(positions)).map(upcast),
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
const exclusively =
  (gate: Gate, file: string): Exclusive =>
  async (work) => {
    for (let held = gate.open(); held; held = gate.open()) await held
    return patiently(file, work)
  }

/** Work beside the log: it lets others run first, and keeps out while a checkpoint finishes. */
const chunks =
  (exclusive: Exclusive, gate: Gate, flush: () => void): BackgroundChunk =>
  async (work, wrote = () => true) => {
    await new Promise((resolve) => setImmediate(resolve))
    return exclusive(() => {
      flush()
      const result = work()
      if (wrote(result)) gate.committed(chunkWeight)
      return result
    })
  }
/** What a chunk counts towards the next checkpoint, in events. */
const chunkWeight = 100
