import type { Database } from "bun:sqlite"
import type { AnyEvent, Recorded } from "./event.ts"
import { handleOf } from "./handle.ts"
import type { LogEvent } from "./log.ts"
import { createTables, type Placement, settle, unusedTables } from "./placement.ts"
import { headOf } from "./row.ts"
import type { View } from "./view.ts"

/** Reads the log for a rebuild, upcast to today's payloads. */
export type Replay = (position: number, limit: number) => Promise<readonly LogEvent[]>

/** Calls `work` outside of any transaction, when others have had their turn. */
export type Slice = <T>(work: () => T) => Promise<T>

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

/** Events in one transaction of a rebuild: a slice of about four milliseconds. */
const sliceEvents = 100
/** Rows of a table that goes, likewise. */
const sliceRows = 500

/** Replays the log into new tables, view by view, and removes the tables that nobody uses. */
export function rebuild(parts: RebuildParts, stale: readonly View[]): Rebuilds {
  const waiting = new Set(stale)
  let stopped = false
  const all = async () => {
    await sweep(parts, () => stopped)
    for (const view of stale) {
      await replayAll(parts, view, () => stopped).catch((cause: unknown) =>
        parts.failed(view.name, cause),
      )
      waiting.delete(view)
    }
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

/** Nothing else can append between the last slice, the swap and the first use of the new tables. */
async function replayAll(parts: RebuildParts, view: View, stopped: () => boolean): Promise<void> {
  const { database, replay, slice } = parts
  if (stopped()) return
  const next = await slice(() => database.transaction(() => createTables(database, view))())
  // The new tables stand for their own view; its reducers write to no other.
  const target = handleOf(database, [next])
  const reduce = (event: LogEvent) => {
    const recorded: Recorded<AnyEvent> = event
    view.reducers.get(event.type)?.(target.writer(event), recorded)
  }
  let position = 0
  let isCurrent = false
  while (!isCurrent && !stopped()) {
    const events = await replay(position, sliceEvents)
    position = events.at(-1)?.position ?? position
    const apply = database.transaction(() => {
      for (const event of events) reduce(event)
      if (headOf(database) > position) return false
      settle(database, next, view.hash)
      return true
    })
    isCurrent = await slice(() => {
      const isWhole = apply()
      if (isWhole) parts.swapped(next)
      return isWhole
    })
  }
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
