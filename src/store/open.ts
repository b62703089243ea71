import type { Database } from "bun:sqlite"
import { Fault } from "../kernel/fault.ts"
import type { AnyAggregate } from "./aggregate.ts"
import { classifyDiskFailure, toDiskFault, tryWrite } from "./disk-error.ts"
import { createInspector } from "./inspection.ts"
import {
  type Checkpointer,
  type CheckpointGate,
  createCheckpointWorker,
  createGate,
} from "./log/checkpoint.ts"
import { type OpenedDatabase, openDatabase, shrinkMemory } from "./log/database.ts"
import { createCommitSync, createSharedSync, type Durability } from "./log/durability.ts"
import { createEventTypes, createUpcaster } from "./log/event-types.ts"
import type { ApplyEvent, Log, LogEvent, NewEvent } from "./log/log.ts"
import { type DurabilityMark, frameCounter } from "./log/mark.ts"
import {
  createNames,
  damagedError,
  decodeEvent,
  type EventRow,
  headOf,
  type Names,
} from "./log/row.ts"
import { createSqliteLog } from "./log/sqlite-log.ts"
import { createHorizon } from "./retention/horizon.ts"
import { createPrune, type PruneParts } from "./retention/prune.ts"
import { createPurge } from "./retention/purge.ts"
import { isTemporary, retryWhileLocked } from "./retry.ts"
import { createReader } from "./search/reader.ts"
import {
  createNode,
  type JoinedLog,
  readMembership,
  requireOwnLog,
  type Sharing,
  setMembership,
} from "./shared/node.ts"
import type { SharedLog } from "./shared/shared-log.ts"
import { type RebuildResult, rebuildStates } from "./state/rebuild.ts"
import { createStates } from "./state/state.ts"
import { Store } from "./store.ts"
import type { Exclusive } from "./store-parts.ts"
import {
  createUpgradeGuard,
  type PendingUpgrade,
  type UpgradeGuard,
} from "./upgrade/upgrade-snapshot.ts"
import { createViewInspector, type InspectionOptions } from "./view/inspection.ts"
import type { BackgroundChunk, Replay } from "./view/rebuild.ts"
import type { View } from "./view/view.ts"
import { createViews } from "./view/views.ts"
import { pauseAll, type ReaderProcesses } from "./worker/readers.ts"

export type OpenOptions = {
  /** The database file; its folder exists, and this process has exclusive access. */
  readonly file: string
  /** Whether the file is a copy of a node's, opened without joining the log. */
  readonly isCopy?: boolean
  readonly aggregates: readonly AnyAggregate[]
  readonly views: readonly View[]
  /** A sync or checkpoint failed: the state of the disk is unknown, so the process must end. */
  readonly fatal: (cause: Error) => void
  /** A view can't be rebuilt at the moment; the node isn't ready. */
  readonly notReady: (view: string, cause: unknown) => void
  /** The view is available again. */
  readonly ready?: (view: string) => void
  /** A disk operation failed; its caller has received the fault. */
  readonly trouble?: (fault: Fault) => void
  /** Number of rows from which a table gets a text index; by default, where an index is faster. */
  readonly textIndexFrom?: number
  /** States were folded again before this start, which took longer. */
  readonly statesRebuilt?: (result: RebuildResult) => void
  /** Tables or states have an older version and are upgraded before the first request. */
  readonly upgrading?: (upgrade: PendingUpgrade) => void
  /** Receives the events of each transaction once they are synced; for metrics. */
  readonly appended?: OnAppended | undefined
  /** Set if other processes read the file. */
  readonly workers?: ReaderProcesses | undefined
}

/** Events as they were appended: payloads can be personal data, types are not. */
export type OnAppended = (events: readonly NewEvent[]) => void

/**
 * Opens or creates the store. Throws a fault with a single-line message, without changing anything,
 * if the file is damaged, foreign or from a newer version. Files of older versions are copied
 * before their tables change, and restored if that fails.
 */
export function openStore(options: OpenOptions): Store {
  if (options.isCopy) return openWithGuard(options)
  const guard = createUpgradeGuard(options.file, {
    aggregates: options.aggregates,
    told: options.upgrading,
  })
  try {
    const store = openWithGuard(options, guard.take)
    guard.done()
    return store
  } catch (cause) {
    throw guard.failed(cause) ?? cause
  }
}

function openWithGuard(options: OpenOptions, before?: UpgradeGuard["take"]): Store {
  const opened = openDatabase(options.file, options.aggregates, before)
  try {
    if (!options.isCopy) requireOwnLog(opened.database)
    const store = createStore(opened, options)
    if (opened.diskFault) options.trouble?.(opened.diskFault)
    return store
  } catch (cause) {
    opened.database.close()
    opened.mark.close()
    throw cause
  }
}

/**
 * The same for one of several nodes: `connect` joins the shared log, of which the file contains a
 * part. Resolves when the file is up to date; throws if it belongs to no log, or to another one.
 */
export async function openNode(
  options: OpenOptions,
  { connect, fresh, ...how }: Sharing,
): Promise<Store> {
  const opened = openDatabase(options.file, options.aggregates)
  let shared: SharedLog | undefined
  try {
    shared = await connect(readMembership(opened.database, options.aggregates, fresh))
    setMembership(opened.database, shared)
    const store = createStore(opened, options, { ...how, shared })
    if (opened.diskFault) options.trouble?.(opened.diskFault)
    await store.node?.caughtUp()
    return store
  } catch (cause) {
    await shared?.close()
    opened.database.close()
    opened.mark.close()
    throw cause
  }
}

/** The store of an open file, and for a node of the joined log. */
export function createStore(
  { database, mark }: OpenedDatabase,
  options: OpenOptions,
  joined?: JoinedLog,
): Store {
  const names = createNames(database)
  const eventTypes = createEventTypes(database)
  const upcast = createUpcaster(options.aggregates)
  const states = createStates({ ...options, database, names, upcast })
  const head = headOf(database)
  const statesRebuilt = rebuildStates({ ...options, database, names, states, upcast })
  if (statesRebuilt.events > 0) options.statesRebuilt?.(statesRebuilt)
  // Shared data is synced in the shared log.
  const durability = joined ? createCommitSync(head) : createDurability(options, head, mark)
  const faultOf = createFaultOf(options)
  const worker = createCheckpointWorker(options.file, { failed: options.fatal, refused: faultOf })
  const reader = createReader({ file: options.file, rowsMin: options.textIndexFrom })
  const { workers: readers } = options
  const copying = { ...withMark(worker, mark, durability), pause: pauseAll(reader.pause, readers) }
  const gate = createGate(copying, () => raw.flush(), { frames: joined && frameCounter(database) })
  const current: ApplyEvent = (event, folded) => {
    states.apply(event, folded)
    views.apply(event)
  }
  // Events of other nodes can have an older revision.
  const apply: ApplyEvent = joined ? (event, folded) => current(upcast(event), folded) : current
  const retention = { database, names, eventTypes, gate, durability }
  const raw = createSqliteLog({ ...retention, apply, head, faultOf, appended: options.appended })
  let drops = 0
  const exclusive = createExclusive(gate, options.file)
  const chunk = createChunkRunner(exclusive, gate, raw.flush)
  const replay = createReplay(database, names, upcast)
  const views = createViews({
    database,
    views: options.views,
    kindOf: states.known,
    replay,
    chunk,
    failed: options.notReady,
    recovered: options.ready ?? (() => undefined),
  })
  const viewInspection = createViewInspector({ database, replay, chunk, ...views })
  const dropped: PruneParts["dropped"] = (streams) => {
    drops++
    viewInspection.dropped(streams)
  }
  const horizon = createHorizon(database)
  const pruning = { ...options, database, names, states, views, chunk, dropped, horizon }
  const following = joined && createNode({ ...joined, ...pruning, local: raw, faultOf })
  const log = createCurrentLog(following?.log ?? raw, upcast, () => drops + views.generation())
  const parts = { ...pruning, shared: following?.drops }
  const [prune, purge] = [createPrune(parts), createPurge(parts)]
  const inspection = createInspector(options.file)
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
    gate.scrub().then(() => Promise.all([reader.scrub(views.texts), readers?.scrub()]).then(noop))
  const inspect = createInspection(inspection, viewInspection, faultOf)
  const reads = { reader, flush: raw.flush, pending: raw.pending }
  const work = { ...horizon, ...reads, prune, purge, scrub, exclusive, close, together: readers }
  const { node } = following ?? {}
  return new Store({ log, database, states, views, inspect, ...small, faultOf, node, ...work })
}

const noop = () => undefined

/** Also reports disk failures to the observer. */
const createFaultOf =
  ({ file, trouble }: OpenOptions): Store["faultOf"] =>
  (cause) => {
    const fault = cause instanceof Fault ? cause : toDiskFault(cause, file)
    if (fault && classifyDiskFailure(fault, file)) trouble?.(fault)
    return fault
  }

/** Reads what is written, synced or not. */
function createReplay(
  database: Database,
  names: Names,
  upcast: (event: LogEvent) => LogEvent,
): Replay {
  const written = database.prepare<EventRow, [number, number]>(
    "SELECT * FROM event WHERE position > ? ORDER BY position LIMIT ?",
  )
  return (position, limit) =>
    written.all(position, limit).map((row) => upcast(decodeEvent(row, names)))
}

const createDurability = (
  { file, fatal }: OpenOptions,
  head: number,
  mark: DurabilityMark,
): Durability =>
  process.platform === "linux"
    ? createSharedSync(`${file}-wal`, head, { failed: fatal, mark })
    : createCommitSync(head)

/**
 * The log in the current revision. Other changes that affect results, such as pruning and replaced
 * tables, increase its change counters too, to invalidate caches.
 */
export function createCurrentLog(
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
    find: async (...search) => {
      const { events, upTo } = await raw.find(...search)
      return { events: events.map(upcast), upTo }
    },
  }
}

/** Runs an inspection; damage becomes a fault that readiness reports. */
function createInspection(
  { inspect }: ReturnType<typeof createInspector>,
  views: ReturnType<typeof createViewInspector>,
  faultOf: Store["faultOf"],
) {
  return async (options: InspectionOptions): Promise<Fault | undefined> => {
    const { damage, failure } = await inspect(options.rest)
    if (damage !== undefined) return faultOf(damagedError(damage))
    if (failure) return faultOf(Object.assign(new Error(failure.message), failure))
    try {
      await views.inspect(options)
      return undefined
    } catch (cause) {
      const fault = faultOf(cause)
      if (!fault) throw cause
      return fault
    }
  }
}

/**
 * A connection closes only when its statements are garbage collected; until then, the WAL would
 * stay.
 */
function emptyWal(database: Database): void {
  try {
    database.run("PRAGMA wal_checkpoint(TRUNCATE)")
  } catch (cause) {
    // The WAL has everything; the next start copies it, possibly to a larger disk.
    if (!isTemporary(cause, database.filename)) throw cause
  }
}

/** Writes a little, to test whether the disk accepts it. */
function touch(database: Database): void {
  tryWrite(database.filename)
  database.run(
    `INSERT INTO meta (key, value) VALUES ('probed', 1)
     ON CONFLICT DO UPDATE SET value = excluded.value`,
  )
}

/** Truncates the WAL only after the mark allows it for everything written. */
const withMark = (
  worker: Checkpointer,
  mark: DurabilityMark,
  durability: Durability,
): Checkpointer => ({
  ...worker,
  empty: async () => {
    await durability.waitUntilSynced()
    if (await mark.release()) return worker.empty()
    await worker.passive()
    return false
  },
})

/** Writes wait during the end of a checkpoint, which would reject them. */
const createExclusive =
  (gate: CheckpointGate, file: string): Exclusive =>
  async (work) => {
    for (let held = gate.open(); held; held = gate.open()) await held
    return retryWhileLocked(file, work)
  }

/**
 * Background work next to the log: yields between chunks, and pauses while a checkpoint finishes.
 */
const createChunkRunner =
  (exclusive: Exclusive, gate: CheckpointGate, flush: () => void): BackgroundChunk =>
  async (work, wrote = () => true) => {
    await new Promise((resolve) => setImmediate(resolve))
    return exclusive(() => {
      flush()
      const result = work()
      if (wrote(result)) gate.committed(chunkWeight)
      return result
    })
  }
/** The weight of a chunk for the next checkpoint, in events. */
const chunkWeight = 100
