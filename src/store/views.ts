import type { Database, Statement as Prepared } from "bun:sqlite"
import type { AnyEvent, Recorded } from "./event.ts"
import type { LogEvent } from "./log.ts"
import { type Rebuild, rebuild } from "./rebuild.ts"
import type { Statement, Value, Values } from "./statement.ts"
import { bound, createTable, type View, type ViewWriter } from "./view.ts"

/** The read models of the store, always at the head of the log. */
export type Views = {
  readonly get: <Row>(query: Statement<Row>, fixed: Values, values?: Values) => Row | undefined
  readonly all: <Row>(query: Statement<Row>, fixed: Values, values?: Values) => readonly Row[]
  /** Runs the reducers of one event; part of its append transaction. */
  readonly apply: (event: LogEvent) => void
  readonly rebuilding: () => readonly string[]
  readonly rebuilt: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Reads the log for a rebuild, upcast to today's payloads. */
export type Replay = (position: number, limit: number) => Promise<readonly LogEvent[]>

/** Tables under their declared names, and the generation that says their physical ones. */
export type Placement = { readonly view: View; readonly generation: number }

type Row = { readonly name: string; readonly hash: string; readonly generation: number }

export type ViewsParts = {
  readonly database: Database
  readonly views: readonly View[]
  readonly replay: Replay
  /** Lets other work run between two slices of a rebuild. */
  readonly pause: () => Promise<void>
  /** A rebuild that met an event it can't read: the node is not ready, and says which event. */
  readonly failed: (view: string, cause: unknown) => void
}

export function viewsOf(parts: ViewsParts): Views {
  const { database, views } = parts
  checkNames(views)
  const stored = new Map(
    database
      .query<Row, []>("SELECT name, hash, generation FROM view")
      .all()
      .map((row) => [row.name, row]),
  )
  const empty = headOf(database) === 0
  const live = views.map((view) => place(database, view, stored.get(view.name), empty))
  const handle = handles(database)
  let current = handle(live)
  let routes = routesOf(live)

  const swapped = (placement: Placement) => {
    const at = live.findIndex((other) => other.view === placement.view)
    live[at] = placement
    current = handle(live)
    routes = routesOf(live)
  }
  const rebuilds: Rebuild[] = live
    .filter(({ view }) => stored.get(view.name)?.hash !== view.hash && !empty)
    .map((old) => rebuild({ ...parts, old, handle, swapped }))

  return {
    get: (query, fixed, values) => current.get(query, fixed, values),
    all: (query, fixed, values) => current.all(query, fixed, values),
    apply: (event) => {
      const reducers = routes.get(event.type)
      if (!reducers) return
      const recorded: Recorded<AnyEvent> = event
      const writer = current.writer(event)
      for (const reducer of reducers) reducer(writer, recorded)
    },
    rebuilding: () => rebuilds.filter((job) => job.running()).map((job) => job.name),
    rebuilt: async () => void (await Promise.all(rebuilds.map((job) => job.done))),
    close: async () => {
      for (const job of rebuilds) job.stop()
      await Promise.all(rebuilds.map((job) => job.done))
    },
  }
}

export const headOf = (database: Database): number =>
  database.query<{ head: number }, []>("SELECT coalesce(max(position), 0) AS head FROM event").get()
    ?.head ?? 0

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

/**
 * Where a view's rows lie. A view that the database doesn't know gets its tables at once; one that
 * changed keeps its old tables, widened by the new columns, until its rebuild replaces them.
 */
function place(database: Database, view: View, row: Row | undefined, empty: boolean): Placement {
  const save = database.prepare(
    `INSERT INTO view (name, hash, generation) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET hash = excluded.hash, generation = excluded.generation`,
  )
  if (row && !(empty && row.hash !== view.hash)) {
    if (row.hash !== view.hash) widen(database, { view, generation: row.generation })
    return { view, generation: row.generation }
  }
  const generation = (row?.generation ?? 0) + 1
  database.transaction(() => {
    createTables(database, { view, generation })
    save.run(view.name, empty ? view.hash : "", generation)
  })()
  return { view, generation }
}

export function createTables(database: Database, { view, generation }: Placement): void {
  for (const [name, table] of Object.entries(view.tables)) {
    for (const sql of createTable(physical(name, generation), table)) database.run(sql)
  }
}

/** Gives the old tables the columns and tables that today's reducers and queries name. */
function widen(database: Database, { view, generation }: Placement): void {
  database.transaction(() => {
    for (const [name, table] of Object.entries(view.tables)) {
      const target = physical(name, generation)
      const present = columnsOf(database, target)
      if (present.length === 0) {
        for (const sql of createTable(target, table)) database.run(sql)
        continue
      }
      for (const column of columnNames(table.columns)) {
        if (!present.includes(column)) database.run(`ALTER TABLE ${target} ADD COLUMN ${column}`)
      }
    }
  })()
}

const columnsOf = (database: Database, table: string): readonly string[] =>
  database
    .query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?)")
    .all(table)
    .map((row) => row.name)

/** First words of the column definitions. */
const columnNames = (columns: string): readonly string[] =>
  columns
    .replace(/\([^)]*\)/g, "")
    .split(",")
    .map((definition) => definition.trim().split(/\s+/)[0] ?? "")

export const physical = (table: string, generation: number): string => `${table}_${generation}`

function routesOf(live: readonly Placement[]) {
  const routes = new Map<string, ((db: ViewWriter, event: Recorded<AnyEvent>) => void)[]>()
  for (const { view } of live) {
    for (const [type, reducer] of view.reducers) {
      routes.set(type, [...(routes.get(type) ?? []), reducer])
    }
  }
  return routes
}

export type Handle = {
  readonly get: <Row>(query: Statement<Row>, fixed: Values, values?: Values) => Row | undefined
  readonly all: <Row>(query: Statement<Row>, fixed: Values, values?: Values) => readonly Row[]
  readonly writer: (event: LogEvent) => ViewWriter
}

/** Runs statements against the tables of the given placements, prepared once each. */
export const handles =
  (database: Database) =>
  (placements: readonly Placement[]): Handle => {
    const names = new Map(
      placements.flatMap(({ view, generation }) =>
        Object.keys(view.tables).map((name) => [name, physical(name, generation)] as const),
      ),
    )
    const tables = new RegExp(`(?<![.$\\w])(${[...names.keys()].join("|") || "(?!)"})(?!\\w)`, "g")
    const cache = new Map<Statement, Prepared<unknown, [Record<string, Value>]>>()
    const prepared = (query: Statement) => {
      let found = cache.get(query)
      if (!found) {
        const sql = query.sql.replace(tables, (name) => names.get(name) ?? name)
        found = database.prepare<unknown, [Record<string, Value>]>(sql)
        cache.set(query, found)
      }
      return found
    }
    // Reason for the casts: a statement's Row type is its declaration's word about its columns.
    const get = <Row>(query: Statement<Row>, fixed: Values, values?: Values) =>
      (prepared(query).get(bound(query, fixed, values)) ?? undefined) as Row | undefined
    const all = <Row>(query: Statement<Row>, fixed: Values, values?: Values) =>
      prepared(query).all(bound(query, fixed, values)) as readonly Row[]
    return {
      get,
      all,
      writer: ({ instance, id, version, position, time, owner }) => {
        const at = { instance, id, version, position, time, owner }
        return {
          run: (query, values) => void prepared(query).run(bound(query, at, values)),
          get: (query, values) => get(query, at, values),
          all: (query, values) => all(query, at, values),
        }
      },
    }
  }
