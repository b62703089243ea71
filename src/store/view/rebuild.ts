import type { Database } from "bun:sqlite"
import type { AnyEvent, PersistedEvent } from "../event.ts"
import type { LogEvent } from "../log/log.ts"
import { headOf } from "../log/row.ts"
import { isTemporary, retryUntilDone } from "../retry.ts"
import { createTables, recordGeneration, type TableGeneration, unusedTables } from "./generation.ts"
import { createHandle, type TableHandle } from "./handle.ts"
import { setStatistics } from "./statistics.ts"
import type { View } from "./view.ts"

/** Reads written events, synced or not, in the current revision. */
export type Replay = (position: number, limit: number) => readonly LogEvent[]

/**
 * Calls `work` outside of transactions, in turn with other work. `wrote` returns whether the result
 * was a write; by default it was.
 */
export type BackgroundChunk = <T>(work: () => T, wrote?: (result: T) => boolean) => Promise<T>

export type RebuildParts = {
  readonly database: Database
  readonly replay: Replay
  readonly chunk: BackgroundChunk
  /** The new tables are used from now on. */
  readonly swapped: (placed: TableGeneration) => void
  /** A view met an unreadable event or a full disk: the node is not ready, and reports why. */
  readonly failed: (view: string, cause: unknown) => void
  /** The rebuild of a view continues. */
  readonly recovered: (view: string) => void
}

/** Rebuilds in progress next to the served tables. */
export type Rebuilds = {
  readonly running: () => readonly string[]
  readonly done: Promise<void>
  readonly stop: () => void
}

/** Events per transaction: a chunk of about three milliseconds. */
const chunkEvents = 150
/** Rows to delete per transaction, likewise. */
const chunkRows = 300

/** Replays the log into new tables, and removes unused tables. */
export function startRebuild(parts: RebuildParts, stale: readonly View[]): Rebuilds {
  let stopped = false
  const waiting = new Set(stale)
  const fail = (views: readonly View[], cause: unknown) => {
    for (const view of views) {
      waiting.delete(view)
      parts.failed(view.name, cause)
    }
  }
  const isCanceled = () => stopped
  const insist = createRetry(parts, isCanceled, waiting)
  const all = async () => {
    await dropUnused(parts, insist)
    await replayAll(parts, { waiting, fail, isOver: isCanceled, insist }).catch((cause: unknown) =>
      fail([...waiting], cause),
    )
    await dropUnused(parts, insist)
  }
  return {
    running: () => [...waiting].map((view) => view.name),
    done: all().catch((cause: unknown) => parts.failed("(unused tables)", cause)),
    stop: () => {
      stopped = true
    },
  }
}

/** Retries a chunk until the disk accepts it; undefined if it is no longer needed. */
type RetryChunk = <T>(work: () => T) => Promise<T | undefined>

/** A full or locked disk delays a rebuild, which the node reports. */
function createRetry(
  { database, chunk, failed, recovered }: RebuildParts,
  isCanceled: () => boolean,
  waiting: ReadonlySet<View>,
): RetryChunk {
  const delayed = new Set<string>()
  const refused = (cause: unknown) => {
    if (!isTemporary(cause, database.filename)) throw cause
    for (const { name } of waiting) {
      delayed.add(name)
      failed(name, cause)
    }
  }
  return (work) =>
    retryUntilDone({ isOver: isCanceled, failed: refused }, async () => {
      const result = await chunk(work)
      for (const name of delayed) recovered(name)
      delayed.clear()
      return result
    })
}

type RebuildProgress = {
  /** The views that are not complete yet. */
  readonly waiting: Set<View>
  readonly fail: (views: readonly View[], cause: unknown) => void
  readonly isOver: () => boolean
  readonly insist: RetryChunk
}

/** A view with its new tables. The handle covers only them: reducers write to no other tables. */
export type BuildingView = {
  readonly view: View
  readonly next: TableGeneration
  readonly target: TableHandle
}

/** Applies events to the tables of one view. */
export function applyEvents({ view, target }: BuildingView, events: readonly LogEvent[]): void {
  for (const event of events) {
    const recorded: PersistedEvent<AnyEvent> = event
    view.reducers.get(event.type)?.(target.writer(event), recorded)
  }
}

/**
 * Reads the log once for all views, because reading and verifying an event costs more than reducing
 * it. Nothing can be appended between the last chunk, the swap and the first use of the new tables.
 * The last chunk is reached under any load, because it does not wait for syncs.
 */
async function replayAll(parts: RebuildParts, progress: RebuildProgress): Promise<void> {
  const { database, replay } = parts
  const { waiting, isOver: isCanceled, insist } = progress
  const built: BuildingView[] = []
  for (const view of waiting) {
    const next = await insist(() => database.transaction(() => prepareTables(database, view))())
    if (!next) return
    built.push({ view, next, target: createHandle(database, [next]) })
  }
  let position = 0
  while (waiting.size > 0 && !isCanceled()) {
    await insist(() => {
      const events = replay(position, chunkEvents)
      const last = events.at(-1)?.position ?? position
      const left = built.filter(({ view }) => waiting.has(view))
      const isWhole = database.transaction(() => {
        for (const building of left) applyToAll(database, { building, events, progress })
        return headOf(database) <= last && swapAll(database, left, waiting)
      })()
      position = last
      if (!isWhole) return
      for (const { view, next } of left) if (waiting.delete(view)) parts.swapped(next)
    })
  }
}

function prepareTables(database: Database, view: View): TableGeneration {
  const placed = createTables(database, view)
  setStatistics(database, [placed])
  return placed
}

/** A reducer that throws ends the rebuild of its own view, and not of others. */
function applyToAll(database: Database, { building, events, progress }: ReduceInput): void {
  const { view } = building
  const wanted = events.filter(({ type }) => view.reducers.has(type))
  if (wanted.length === 0) return
  try {
    database.transaction(() => applyEvents(building, wanted))()
  } catch (cause) {
    if (isTemporary(cause, database.filename)) throw cause
    progress.fail([view], cause)
  }
}

type ReduceInput = {
  readonly building: BuildingView
  readonly events: readonly LogEvent[]
  readonly progress: RebuildProgress
}

function swapAll(
  database: Database,
  built: readonly BuildingView[],
  waiting: ReadonlySet<View>,
): boolean {
  for (const { view, next } of built)
    if (waiting.has(view)) recordGeneration(database, next, view.hash)
  return true
}

/**
 * Deletes the rows of unused tables before dropping them: dropping a full table would stall the
 * server.
 */
async function dropUnused({ database }: RebuildParts, insist: RetryChunk): Promise<void> {
  for (const table of unusedTables(database)) {
    const key = database
      .query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?) WHERE pk > 0")
      .all(table)
      .map((column) => column.name)
      .join(", ")
    const some = `DELETE FROM ${table}
      WHERE (${key}) IN (SELECT ${key} FROM ${table} LIMIT ${chunkRows})`
    let changes = 1
    while (changes > 0) changes = (await insist(() => database.run(some).changes)) ?? 0
    await insist(() => database.run(`DROP TABLE ${table}`))
  }
}
