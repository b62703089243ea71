import type { Database } from "bun:sqlite"
import type { AnyAggregate } from "../aggregate.ts"
import type { AnyEvent, PersistedEvent } from "../event.ts"
import type { LogEvent } from "../log/log.ts"
import { isCurrent, physicalName, placeViews, type TableGeneration } from "./generation.ts"
import { createHandle, type EventValues, type TableHandle } from "./handle.ts"
import { findIndexes, type Index, listTextTables, type TextTable } from "./indexes.ts"
import { type BackgroundChunk, type RebuildParts, type Replay, startRebuild } from "./rebuild.ts"
import type { Statement } from "./statement.ts"
import { setStatistics } from "./statistics.ts"
import type { Reducer, View } from "./view.ts"

/** Lookups in the served tables. */
export type ViewLookups = Pick<TableHandle, "get" | "all"> & {
  /** The index with the rows of a table in the order of a column, if any. */
  readonly index: (table: string, column: string) => Index | undefined
  /** A statement for another connection, with the names of the currently served tables. */
  readonly sql: (query: Statement) => string
  /** The event types that affect the result of a statement. */
  readonly typesIn: (sql: string) => readonly string[]
  /** Increases when the served tables change. */
  readonly generation: () => number
  /** The columns of a table's primary key after `instance`; undefined for unknown tables. */
  readonly keyOf: (table: string) => string | undefined
  /** The tables whose texts are searched for substrings, by name. */
  readonly texts: () => Readonly<Record<string, TextTable>>
  readonly names: readonly string[]
}

/** The part that all readers have, whether they also write or not. */
export type ReadViews = ViewLookups & Pick<Views, "rebuilding" | "again" | "rebuilt">

/** The read models of the store, always at the head of the log. */
export type Views = ViewLookups & {
  /** Runs the reducers of one event; part of its append transaction. */
  readonly apply: (event: LogEvent) => void
  /** Removes what was derived from a stream; part of the transaction that prunes it. */
  readonly drop: (last: EventValues & { readonly stream: string }) => void
  /**
   * Deletes some rows of an instance from each table, except those of one view; returns their
   * number.
   */
  readonly erase: (
    instance: string,
    erasure: { readonly keep: string; readonly limit: number },
  ) => number
  readonly rebuilding: () => readonly string[]
  /**
   * Rebuilds a view in the background, while its old rows are still served; false if it doesn't
   * exist.
   */
  readonly again: (name: string) => boolean
  /** The views whose rows match their current reducers. */
  readonly whole: () => readonly TableGeneration[]
  readonly rebuilt: () => Promise<void>
  readonly close: () => Promise<void>
}

export type ViewsParts = {
  readonly database: Database
  /** The aggregate of an event type. */
  readonly kindOf: (type: string) => AnyAggregate | undefined
  readonly views: readonly View[]
  readonly replay: Replay
  readonly chunk: BackgroundChunk
  readonly failed: (view: string, cause: unknown) => void
  readonly recovered: (view: string) => void
}

export function createViews(parts: ViewsParts): Views {
  const { database, views } = parts
  requireDistinctNames(views)
  requirePruneReducers(parts)
  const { live, stale } = placeViews(database, views)
  setStatistics(database, live)
  const routes = reducersByType(views)
  const serving = createLookups(database, views, live)
  const swapped = (placed: TableGeneration) => {
    live[live.findIndex((other) => other.view === placed.view)] = placed
    serving.turn(live)
  }
  const rebuilds = createRebuilds({ ...parts, swapped }, stale)

  return {
    ...serving.looks,
    apply: (event) => {
      const reducers = routes.get(event.type)
      if (!reducers) return
      const recorded: PersistedEvent<AnyEvent> = event
      const writer = serving.current().writer(event)
      for (const reducer of reducers) reducer(writer, recorded)
    },
    erase: (instance, { keep, limit }) => {
      const pruning = live.filter(({ view }) => view.name !== keep)
      return pruning.reduce(
        (sum, placed) => sum + deleteRows(database, placed, { instance, limit }),
        0,
      )
    },
    drop: (last) => {
      const writer = serving.current().writer(last)
      for (const view of views) view.onPruned[last.stream]?.(writer, last)
    },
    rebuilding: rebuilds.running,
    again: (name) => {
      const view = views.find((each) => each.name === name)
      if (view) rebuilds.again(view)
      return view !== undefined
    },
    whole: () => live.filter((placed) => isCurrent(database, placed)),
    rebuilt: rebuilds.done,
    close: rebuilds.close,
  }
}

/** Runs lookups in the served tables; `turn` switches to other tables. */
export function createLookups(
  database: Database,
  views: readonly View[],
  live: readonly TableGeneration[],
) {
  const placed = (tables: readonly TableGeneration[]) => ({
    handle: createHandle(database, tables),
    indexes: findIndexes(database, tables),
    texts: listTextTables(tables),
  })
  let current = placed(live)
  let generation = 0
  const tables = new Map(views.flatMap((view) => Object.entries(view.tables)))
  const lookups: ViewLookups = {
    index: (table, column) => current.indexes.get(`${table}.${column}`),
    sql: (query) => current.handle.sql(query),
    typesIn: (sql) => eventTypesIn(views, sql),
    generation: () => generation,
    keyOf: (table) => tables.get(table)?.key,
    texts: () => current.texts,
    get: (query, fixed, values) => current.handle.get(query, fixed, values),
    all: (query, fixed, values) => current.handle.all(query, fixed, values),
    names: views.map(({ name }) => name),
  }
  return {
    looks: lookups,
    current: () => current.handle,
    turn: (next: readonly TableGeneration[]) => {
      current = placed(next)
      generation++
    },
  }
}

/** Runs rebuilds: of stale views immediately, of others on request. */
function createRebuilds(parts: RebuildParts, stale: readonly View[]) {
  let current = startRebuild(parts, stale)
  let isClosed = false
  // One after the other, because each removes unused tables.
  let switchTables = current.done
  const requested = new Set<string>()
  const running = () => [...current.running(), ...requested]
  return {
    running,
    done: () => switchTables,
    again: (view: View) => {
      if (running().includes(view.name)) return
      requested.add(view.name)
      switchTables = switchTables.then(() => {
        requested.delete(view.name)
        if (isClosed) return
        current = startRebuild(parts, [view])
        return current.done
      })
    },
    close: () => {
      isClosed = true
      current.stop()
      return switchTables
    },
  }
}

/** Table names are replaced as whole words, so none may also be a column name. */
function requireDistinctNames(views: readonly View[]): void {
  const seen = new Set<string>()
  for (const view of views) {
    for (const name of Object.keys(view.tables)) {
      if (seen.has(name)) throw new Error(`two views declare the table ${name}`)
      seen.add(name)
    }
  }
  for (const view of views) {
    for (const [name, table] of Object.entries(view.tables)) {
      const column = [...seen].find((other) => new RegExp(`\\b${other}\\b`).test(table.columns))
      if (column) throw new Error(`the column ${column} of table ${name} has the name of a table`)
    }
  }
}

/** Views of expiring streams must be able to remove their rows. */
function requirePruneReducers({ views, kindOf }: ViewsParts): void {
  for (const view of views) {
    for (const type of view.reducers.keys()) {
      const kind = kindOf(type)
      if (!kind || kind.retention === "forever" || view.onPruned[kind.stream]) continue
      throw new Error(
        `the view ${view.name} uses ${type}, but streams of ${kind.stream} expire; add a ` +
          "reducer for them to `dropped`",
      )
    }
  }
}

function reducersByType(views: readonly View[]): ReadonlyMap<string, readonly Reducer[]> {
  const routes = new Map<string, readonly Reducer[]>()
  for (const view of views) {
    for (const [type, reducer] of view.reducers) {
      routes.set(type, [...(routes.get(type) ?? []), reducer])
    }
  }
  return routes
}

function eventTypesIn(views: readonly View[], sql: string): readonly string[] {
  const words = new Set(sql.match(/\w+/g))
  const named = views.filter(({ tables }) => Object.keys(tables).some((name) => words.has(name)))
  return named.flatMap(({ reducers }) => [...reducers.keys()])
}

/** Deletes rows of an instance by key, with a separate statement for each table. */
function deleteRows(
  database: Database,
  { view, generation }: TableGeneration,
  { instance, limit }: { readonly instance: string; readonly limit: number },
): number {
  return Object.entries(view.tables).reduce((sum, [name, { key }]) => {
    const table = physicalName(name, generation)
    const erase = database.query<unknown, [string, number]>(
      `DELETE FROM ${table} WHERE (instance, ${key}) IN
         (SELECT instance, ${key} FROM ${table} WHERE instance = ? LIMIT ?)`,
    )
    return sum + erase.run(instance, limit).changes
  }, 0)
}
