import type { Database } from "bun:sqlite"
import type { AnyEvent, Recorded } from "./event.ts"
import { type Handle, handleOf } from "./handle.ts"
import type { LogEvent } from "./log.ts"
import { createTables, type Placement, settle, unusedTables } from "./placement.ts"
import { headOf } from "./row.ts"
import { advise } from "./statistics.ts"
import type { View } from "./view.ts"

/** Reads what is written, on disk or not, upcast to today's payloads. */
export type Replay = (position: number, limit: number) => readonly LogEvent[]

/**
 * Calls `work` outside of any transaction, when others have had their turn. `wrote` says of its
 * result whether it wrote; it did, unless told.
 */
export type Slice = <T>(work: () => T, wrote?: (result: T) => boolean) => Promise<T>

export type RebuildParts = {
  readonly database: Database
  readonly replay: Replay
  readonly slice: Slice
  /** Reads and writes go to the new tables from now on. */
  readonly swapped: (placement: Placement) => void
  /** A view that met an event it can't read: the node is not ready, and says which event. */
  readonly failed: (view: string, cause: unknown) => void
}

/** Views being made anew beside the ones that serve. */
export type Rebuilds = {
  readonly running: () => readonly string[]
  readonly done: Promise<void>
  readonly stop: () => void
}

/** Events in one transaction of a rebuild: a slice of about three milliseconds. */
const sliceEvents = 150
/** Rows of a table that goes, likewise. */
const sliceRows = 300

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
  const all = async () => {
    await sweep(parts, () => stopped)
    await replayAll(parts, { waiting, fail, stopped: () => stopped }).catch((cause: unknown) =>
      fail([...waiting], cause),
    )
    await sweep(parts, () => stopped)
  }
  return {
    running: () => [...waiting].map((view) => view.name),
    done: all().catch((cause: unknown) => parts.failed("(unused tables)", cause)),
    stop: () => {
      stopped = true
    },
  }
}

type Progress = {
  /** The views that are not whole yet. */
  readonly waiting: Set<View>
  readonly fail: (views: readonly View[], cause: unknown) => void
  readonly stopped: () => boolean
}

/** A view with its new tables. They stand for it alone: its reducers write to no other. */
type Building = { readonly view: View; readonly next: Placement; readonly target: Handle }

/**
 * Reads the log once for all views: to read and check an event costs more than to reduce it.
 * Nothing else can append between the last slice, the swap and the first use of the new tables.
 * That slice is reached under any load, because it need not wait until its events are on disk.
 */
async function replayAll(parts: RebuildParts, progress: Progress): Promise<void> {
  const { database, replay, slice } = parts
  const { waiting, stopped } = progress
  const built: Building[] = []
  for (const view of waiting) {
    if (stopped()) return
    const next = await slice(() => database.transaction(() => prepared(database, view))())
    built.push({ view, next, target: handleOf(database, [next]) })
  }
  let position = 0
  while (waiting.size > 0 && !stopped()) {
    await slice(() => {
      const events = replay(position, sliceEvents)
      position = events.at(-1)?.position ?? position
      const left = built.filter(({ view }) => waiting.has(view))
      const isWhole = database.transaction(() => {
        for (const building of left) reduceAll(database, { building, events, progress })
        return headOf(database) <= position && settleAll(database, left, waiting)
      })()
      if (!isWhole) return
      for (const { view, next } of left) if (waiting.delete(view)) parts.swapped(next)
    })
  }
}

function prepared(database: Database, view: View): Placement {
  const placement = createTables(database, view)
  advise(database, [placement])
  return placement
}

/** A reducer that throws ends the rebuild of its own view, and leaves the others alone. */
function reduceAll(database: Database, { building, events, progress }: Work): void {
  const { view, target } = building
  const wanted = events.filter(({ type }) => view.reducers.has(type))
  if (wanted.length === 0) return
  const reduce = database.transaction(() => {
    for (const event of wanted) {
      const recorded: Recorded<AnyEvent> = event
      view.reducers.get(event.type)?.(target.writer(event), recorded)
    }
  })
  try {
    reduce()
  } catch (cause) {
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
async function sweep({ database, slice }: RebuildParts, stopped: () => boolean): Promise<void> {
  for (const table of unusedTables(database)) {
    const key = database
      .query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?) WHERE pk > 0")
      .all(table)
      .map((column) => column.name)
      .join(", ")
    const some = `DELETE FROM ${table}
      WHERE (${key}) IN (SELECT ${key} FROM ${table} LIMIT ${sliceRows})`
    let changes = 1
    while (changes > 0) {
      if (stopped()) return
      changes = await slice(() => database.run(some).changes)
    }
    await slice(() => database.run(`DROP TABLE ${table}`))
  }
}
