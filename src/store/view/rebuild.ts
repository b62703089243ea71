import type { Database } from "bun:sqlite"
import type { AnyEvent, Recorded } from "../event.ts"
import type { LogEvent } from "../log/log.ts"
import { headOf } from "../log/row.ts"
import { insistently, isPassing } from "../patience.ts"
import { createTables, settle, type TableGeneration, unusedTables } from "./generation.ts"
import { type Handle, handleOf } from "./handle.ts"
import { advise } from "./statistics.ts"
import type { View } from "./view.ts"

/** Reads what is written, on disk or not, upcast to today's payloads. */
export type Replay = (position: number, limit: number) => readonly LogEvent[]

/**
 * Calls `work` outside of any transaction, when others have had their turn. `wrote` says of its
 * result whether it wrote; it did, unless told.
 */
export type BackgroundChunk = <T>(work: () => T, wrote?: (result: T) => boolean) => Promise<T>

export type RebuildParts = {
  readonly database: Database
  readonly replay: Replay
  readonly chunk: BackgroundChunk
  /** Reads and writes go to the new tables from now on. */
  readonly swapped: (placed: TableGeneration) => void
  /**
   * A view that met an event it can't read, or a disk that is full for now: the node is not ready,
   * and says why.
   */
  readonly failed: (view: string, cause: unknown) => void
  /** The rebuild of a view goes on. */
  readonly recovered: (view: string) => void
}

/** Views being made anew beside the ones that serve. */
export type Rebuilds = {
  readonly running: () => readonly string[]
  readonly done: Promise<void>
  readonly stop: () => void
}

/** Events in one transaction of a rebuild: a chunk of about three milliseconds. */
const chunkEvents = 150
/** Rows of a table that goes, likewise. */
const chunkRows = 300

/** Replays the log into new tables, and removes the tables that nobody uses. */
export function rebuild(parts: RebuildParts, stale: readonly View[]): Rebuilds {
  let stopped = false
  const waiting = new Set(stale)
  const fail = (views: readonly View[], cause: unknown) => {
    for (const view of views) {
      waiting.delete(view)
      parts.failed(view.name, cause)
    }
  }
  const isOver = () => stopped
  const insist = insistence(parts, isOver, waiting)
  const all = async () => {
    await dropUnused(parts, insist)
    await replayAll(parts, { waiting, fail, isOver, insist }).catch((cause: unknown) =>
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

/** A chunk that is tried until the disk takes it; undefined where nobody wants it any more. */
type Insist = <T>(work: () => T) => Promise<T | undefined>

/** A full or locked disk delays a rebuild, and the node says so meanwhile. */
function insistence(
  { database, chunk, failed, recovered }: RebuildParts,
  isOver: () => boolean,
  waiting: ReadonlySet<View>,
): Insist {
  const delayed = new Set<string>()
  const refused = (cause: unknown) => {
    if (!isPassing(cause, database.filename)) throw cause
    for (const { name } of waiting) {
      delayed.add(name)
      failed(name, cause)
    }
  }
  return (work) =>
    insistently({ isOver, failed: refused }, async () => {
      const result = await chunk(work)
      for (const name of delayed) recovered(name)
      delayed.clear()
      return result
    })
}

type Progress = {
  /** The views that are not whole yet. */
  readonly waiting: Set<View>
  readonly fail: (views: readonly View[], cause: unknown) => void
  readonly isOver: () => boolean
  readonly insist: Insist
}

/** A view with its new tables. They stand for it alone: its reducers write to no other. */
export type Building = {
  readonly view: View
  readonly next: TableGeneration
  readonly target: Handle
}

/** What the events make of the tables of one view. */
export function reduce({ view, target }: Building, events: readonly LogEvent[]): void {
  for (const event of events) {
    const recorded: Recorded<AnyEvent> = event
    view.reducers.get(event.type)?.(target.writer(event), recorded)
  }
}

/**
 * Reads the log once for all views: to read and check an event costs more than to reduce it.
 * Nothing else can append between the last chunk, the swap and the first use of the new tables.
 * That chunk is reached under any load, because it need not wait until its events are on disk.
 */
async function replayAll(parts: RebuildParts, progress: Progress): Promise<void> {
  const { database, replay } = parts
  const { waiting, isOver, insist } = progress
  const built: Building[] = []
  for (const view of waiting) {
    const next = await insist(() => database.transaction(() => prepared(database, view))())
    if (!next) return
    built.push({ view, next, target: handleOf(database, [next]) })
  }
  let position = 0
  while (waiting.size > 0 && !isOver()) {
    await insist(() => {
      const events = replay(position, chunkEvents)
      const last = events.at(-1)?.position ?? position
      const left = built.filter(({ view }) => waiting.has(view))
      const isWhole = database.transaction(() => {
        for (const building of left) reduceAll(database, { building, events, progress })
        return headOf(database) <= last && settleAll(database, left, waiting)
      })()
      position = last
      if (!isWhole) return
      for (const { view, next } of left) if (waiting.delete(view)) parts.swapped(next)
    })
  }
}

function prepared(database: Database, view: View): TableGeneration {
  const placed = createTables(database, view)
  advise(database, [placed])
  return placed
}

/** A reducer that throws ends the rebuild of its own view, and leaves the others alone. */
function reduceAll(database: Database, { building, events, progress }: Work): void {
  const { view } = building
  const wanted = events.filter(({ type }) => view.reducers.has(type))
  if (wanted.length === 0) return
  try {
    database.transaction(() => reduce(building, wanted))()
  } catch (cause) {
    if (isPassing(cause, database.filename)) throw cause
    progress.fail([view], cause)
  }
}

type Work = {
  readonly building: Building
  readonly events: readonly LogEvent[]
  readonly progress: Progress
}

function settleAll(
  database: Database,
  built: readonly Building[],
  waiting: ReadonlySet<View>,
): boolean {
  for (const { view, next } of built) if (waiting.has(view)) settle(database, next, view.hash)
  return true
}

/** Empties unused tables before it drops them: to drop a full one would stall everybody. */
async function dropUnused({ database }: RebuildParts, insist: Insist): Promise<void> {
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
