import type { Database } from "bun:sqlite"
import type { AnyAggregate } from "../aggregate.ts"
import type { AnyEvent, Recorded } from "../event.ts"
import type { LogEvent } from "../log/log.ts"
import { isWhole, physical, place, type TableGeneration } from "./generation.ts"
import { type Handle, handleOf, type Standing } from "./handle.ts"
import { type Index, indexesOf, type TextTable, textTablesOf } from "./indexes.ts"
import { type BackgroundChunk, type RebuildParts, type Replay, rebuild } from "./rebuild.ts"
import type { Statement } from "./statement.ts"
import { advise } from "./statistics.ts"
import type { Reducer, View } from "./view.ts"

/** What is looked up in the tables that serve. */
export type Looks = Pick<Handle, "get" | "all"> & {
  /** The index that has the rows of a table in the order of a column; undefined for none. */
  readonly index: (table: string, column: string) => Index | undefined
  /** A statement as another connection can run it, against the tables that serve now. */
  readonly sql: (query: Statement) => string
  /** The types of the events that what a statement finds is made of. */
  readonly typesIn: (sql: string) => readonly string[]
  /** Grows when other tables serve than before. */
  readonly generation: () => number
  /** The columns of a table's primary key after `instance`; undefined for no table of ours. */
  readonly keyOf: (table: string) => string | undefined
  /** By their names, the tables whose texts are looked for anywhere in them. */
  readonly texts: () => Readonly<Record<string, TextTable>>
  readonly names: readonly string[]
}

/** What of them everybody has who reads, whether they write, too, or not. */
export type ReadViews = Looks & Pick<Views, "rebuilding" | "again" | "rebuilt">

/** The read models of the store, always at the head of the log. */
export type Views = Looks & {
  /** Runs the reducers of one event; part of its append transaction. */
  readonly apply: (event: LogEvent) => void
  /** Takes away what was made of a stream; part of the transaction that drops it. */
  readonly drop: (last: Standing & { readonly stream: string }) => void
  /** Takes rows of an instance away, some of each table but those of one view; how many went. */
  readonly erase: (
    instance: string,
    what: { readonly keep: string; readonly limit: number },
  ) => number
  readonly rebuilding: () => readonly string[]
  /** Makes a view anew beside its rows, which serve meanwhile; false where there is none. */
  readonly again: (name: string) => boolean
  /** The views whose rows are those that today's reducers make. */
  readonly whole: () => readonly TableGeneration[]
  readonly rebuilt: () => Promise<void>
  readonly close: () => Promise<void>
}

export type ViewsParts = {
  readonly database: Database
  /** The kind of stream that has events of a type. */
  readonly kindOf: (type: string) => AnyAggregate | undefined
  readonly views: readonly View[]
  readonly replay: Replay
  readonly chunk: BackgroundChunk
  readonly failed: (view: string, cause: unknown) => void
  readonly recovered: (view: string) => void
}

export function viewsOf(parts: ViewsParts): Views {
  const { database, views } = parts
  checkNames(views)
  checkDrops(parts)
  const { live, stale } = place(database, views)
  advise(database, live)
  const routes = routesOf(views)
  const serving = servingOf(database, views, live)
  const swapped = (placed: TableGeneration) => {
    live[live.findIndex((other) => other.view === placed.view)] = placed
    serving.turn(live)
  }
  const rebuilds = rebuildsOf({ ...parts, swapped }, stale)

  return {
    ...serving.looks,
    apply: (event) => {
      const reducers = routes.get(event.type)
      if (!reducers) return
      const recorded: Recorded<AnyEvent> = event
      const writer = serving.current().writer(event)
      for (const reducer of reducers) reducer(writer, recorded)
    },
    erase: (instance, { keep, limit }) => {
      const going = live.filter(({ view }) => view.name !== keep)
      return going.reduce(
        (sum, placed) => sum + eraseFrom(database, placed, { instance, limit }),
        0,
      )
    },
    drop: (last) => {
      const writer = serving.current().writer(last)
      for (const view of views) view.dropped[last.stream]?.(writer, last)
    },
    rebuilding: rebuilds.running,
    again: (name) => {
      const view = views.find((each) => each.name === name)
      if (view) rebuilds.again(view)
      return view !== undefined
    },
    whole: () => live.filter((placed) => isWhole(database, placed)),
    rebuilt: rebuilds.done,
    close: rebuilds.close,
  }
}

/** Looks things up in the tables that serve now; `turn` has others do so from then on. */
export function servingOf(
  database: Database,
  views: readonly View[],
  live: readonly TableGeneration[],
) {
  const placed = (tables: readonly TableGeneration[]) => ({
    handle: handleOf(database, tables),
    indexes: indexesOf(database, tables),
    texts: textTablesOf(tables),
  })
  let current = placed(live)
  let generation = 0
  const tables = new Map(views.flatMap((view) => Object.entries(view.tables)))
  const looks: Looks = {
    index: (table, column) => current.indexes.get(`${table}.${column}`),
    sql: (query) => current.handle.sql(query),
    typesIn: (sql) => typesIn(views, sql),
    generation: () => generation,
    keyOf: (table) => tables.get(table)?.key,
    texts: () => current.texts,
    get: (query, fixed, values) => current.handle.get(query, fixed, values),
    all: (query, fixed, values) => current.handle.all(query, fixed, values),
    names: views.map(({ name }) => name),
  }
  return {
    looks,
    current: () => current.handle,
    turn: (next: readonly TableGeneration[]) => {
      current = placed(next)
      generation++
    },
  }
}

/** Views that are made anew: those that are stale at once, others when they are asked for. */
function rebuildsOf(parts: RebuildParts, stale: readonly View[]) {
  let current = rebuild(parts, stale)
  let isClosed = false
  // One after the other: each takes away the tables that nobody uses.
  let turn = current.done
  const wanted = new Set<string>()
  const running = () => [...current.running(), ...wanted]
  return {
    running,
    done: () => turn,
    again: (view: View) => {
      if (running().includes(view.name)) return
      wanted.add(view.name)
      turn = turn.then(() => {
        wanted.delete(view.name)
        if (isClosed) return
        current = rebuild(parts, [view])
        return current.done
      })
    },
    close: () => {
      isClosed = true
      current.stop()
      return turn
    },
  }
}

/** Table names are rewritten as whole words, so none may also be the name of a column. */
function checkNames(views: readonly View[]): void {
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
      if (column) throw new Error(`table ${name} has a column named like the table ${column}`)
    }
  }
}

/** What is made of streams that go one day must be able to go with them. */
function checkDrops({ views, kindOf }: ViewsParts): void {
  for (const view of views) {
    for (const type of view.reducers.keys()) {
      const kind = kindOf(type)
      if (!kind || kind.retention === "forever" || view.dropped[kind.stream]) continue
      throw new Error(
        `the view ${view.name} is made of ${type}, but streams of ${kind.stream} are dropped one ` +
          "day; say in its `dropped` what goes with them",
      )
    }
  }
}

function routesOf(views: readonly View[]): ReadonlyMap<string, readonly Reducer[]> {
  const routes = new Map<string, readonly Reducer[]>()
  for (const view of views) {
    for (const [type, reducer] of view.reducers) {
      routes.set(type, [...(routes.get(type) ?? []), reducer])
    }
  }
  return routes
}

function typesIn(views: readonly View[], sql: string): readonly string[] {
  const words = new Set(sql.match(/\w+/g))
  const named = views.filter(({ tables }) => Object.keys(tables).some((name) => words.has(name)))
  return named.flatMap(({ reducers }) => [...reducers.keys()])
}

/** Deletes rows of an instance by their keys: a statement of its own for each table. */
function eraseFrom(
  database: Database,
  { view, generation }: TableGeneration,
  { instance, limit }: { readonly instance: string; readonly limit: number },
): number {
  return Object.entries(view.tables).reduce((sum, [name, { key }]) => {
    const table = physical(name, generation)
    const erase = database.query<unknown, [string, number]>(
      `DELETE FROM ${table} WHERE (instance, ${key}) IN
         (SELECT instance, ${key} FROM ${table} WHERE instance = ? LIMIT ?)`,
    )
    return sum + erase.run(instance, limit).changes
  }, 0)
}
