import type { Database } from "bun:sqlite"
import { headOf } from "../log/row.ts"
import { createTable, type TableLayout, type View } from "./view.ts"

/** Where the rows of a view lie: its declared tables, numbered by generation. */
export type TableGeneration = { readonly view: View; readonly generation: number }

export const physical = (table: string, generation: number): string => `${table}_${generation}`

type Tables = View["tables"]
type Row = {
  readonly name: string
  readonly hash: string
  readonly generation: number
  /** The declaration that the tables of this generation fit. */
  readonly tables: string
}

const rowsOf = (database: Database) => database.query<Row, []>("SELECT * FROM view").all()

/** Finds or makes the tables of all views; `stale` are those whose rows must be made anew. */
export function place(database: Database, views: readonly View[]) {
  const stored = new Map(rowsOf(database).map((row) => [row.name, row]))
  const empty = headOf(database) === 0
  const stale: View[] = []
  const live = views.map((view) => {
    const row = stored.get(view.name)
    if (row?.hash === view.hash) return { view, generation: row.generation }
    if (!empty) stale.push(view)
    if (row && !empty) return adapt(database, view, row)
    return make(database, view, empty ? view.hash : "")
  })
  forget(database, views)
  return { live, stale }
}

/** Says where a view's rows now lie, and what they were made by. */
export function settle(
  database: Database,
  { view, generation }: TableGeneration,
  hash: string,
): void {
  database
    .query<unknown, [string, string, number, string]>(
      `INSERT INTO view (name, hash, generation, tables) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET hash = excluded.hash, generation = excluded.generation,
         tables = excluded.tables`,
    )
    .run(view.name, hash, generation, JSON.stringify(view.tables))
  // Processes that only read the file look at this with every request.
  database.run(
    `INSERT INTO meta (key, value) VALUES ('views', 1)
     ON CONFLICT DO UPDATE SET value = value + 1`,
  )
}

/** The tables that another process has made, and views whose rows it is making anew. */
export function placedBefore(database: Database, views: readonly View[]) {
  const stored = new Map(rowsOf(database).map((row) => [row.name, row]))
  const live = views.map((view) => {
    const row = stored.get(view.name)
    if (!row) throw new Error(`nobody has made the tables of the view ${view.name}`)
    return { view, generation: row.generation }
  })
  const stale = views.filter((view) => stored.get(view.name)?.hash !== view.hash)
  return { live, stale: stale.map(({ name }) => name) }
}

/** Whether a view's rows are those that its reducers of today make. */
export const isWhole = (database: Database, { view }: TableGeneration): boolean =>
  rowsOf(database).some(({ name, hash }) => name === view.name && hash === view.hash)

/** Makes empty tables under a number that none of the view's tables has had. */
export function createTables(database: Database, view: View): TableGeneration {
  const used = viewTables(database).map((name) => Number(name.match(/\d+$/)?.[0]))
  const generation = Math.max(0, ...used) + 1
  for (const [name, table] of Object.entries(view.tables)) {
    for (const sql of createTable(physical(name, generation), table)) database.run(sql)
  }
  return { view, generation }
}

/** Tables that no view uses any more: left by a rebuild, by its interruption, or by a reshape. */
export function unusedTables(database: Database): readonly string[] {
  const used = new Set(
    rowsOf(database).flatMap(({ generation, tables }) =>
      Object.keys(JSON.parse(tables)).map((name) => physical(name, generation)),
    ),
  )
  return viewTables(database).filter((name) => !used.has(name))
}

/** No table of the log's own ends in a number; see the schema. */
const viewTables = (database: Database): readonly string[] =>
  database
    .query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'")
    .all()
    .map((row) => row.name)
    .filter((name) => /_\d+$/.test(name))

function make(database: Database, view: View, hash: string): TableGeneration {
  return database.transaction(() => {
    const placed = createTables(database, view)
    settle(database, placed, hash)
    return placed
  })()
}

/**
 * Lets today's reducers and queries work on the old rows until the rebuild replaces them. New
 * tables and columns are added in place; any other change copies the rows into the new form.
 */
function adapt(database: Database, view: View, row: Row): TableGeneration {
  const old: Tables = JSON.parse(row.tables)
  return database.transaction(() => {
    const placed = onlyAdds(old, view.tables)
      ? widen(database, { view, generation: row.generation })
      : reshape(database, view, row.generation)
    settle(database, placed, row.hash)
    return placed
  })()
}

const onlyAdds = (old: Tables, now: Tables): boolean =>
  Object.entries(now).every(([name, table]) => {
    const before = old[name]
    if (!before) return true
    const definitions = definitionsOf(table)
    return (
      before.key === table.key &&
      JSON.stringify(before.unique) === JSON.stringify(table.unique) &&
      definitionsOf(before).every((definition) => definitions.includes(definition))
    )
  })

/** The parts of a table's declaration that stand between commas. */
const definitionsOf = (table: TableLayout): readonly string[] =>
  table.columns.split(/,(?![^(]*\))/).map((definition) => definition.trim())

function widen(database: Database, placed: TableGeneration): TableGeneration {
  for (const [name, table] of Object.entries(placed.view.tables)) {
    const target = physical(name, placed.generation)
    const present = columnsOf(database, target).map((column) => column.name)
    if (present.length === 0) {
      for (const sql of createTable(target, table)) database.run(sql)
      continue
    }
    const columns = definitionsOf(table).map((definition) => definition.split(/\s+/)[0] ?? "")
    for (const column of columns.filter((each) => !constraint.test(each))) {
      if (!present.includes(column)) database.run(`ALTER TABLE ${target} ADD COLUMN ${column}`)
    }
  }
  return placed
}
const constraint = /^(CHECK|CONSTRAINT|FOREIGN|PRIMARY|UNIQUE)\b/i

function reshape(database: Database, view: View, from: number): TableGeneration {
  const placed = createTables(database, view)
  for (const name of Object.keys(view.tables)) {
    const source = physical(name, from)
    const present = columnsOf(database, source).map((column) => column.name)
    if (present.length === 0) continue
    const target = physical(name, placed.generation)
    const columns = columnsOf(database, target)
    const values = columns.map((column) => oldValue(column, present.includes(column.name)))
    // Two rows that the new key makes one: the rebuild decides, until then the first one stands.
    database.run(
      `INSERT OR IGNORE INTO ${target} (${columns.map((column) => column.name).join(", ")})
       SELECT ${values.join(", ")} FROM ${source}`,
    )
  }
  return placed
}

/** A column's old value, or what stands for it where it may not be missing. */
function oldValue({ name, type, notnull, dflt_value }: Column, present: boolean): string {
  const substitute = dflt_value ?? (notnull ? (/INT|REAL|NUM/i.test(type) ? "0" : "''") : "NULL")
  return present ? `coalesce(${name}, ${substitute})` : substitute
}

type Column = {
  readonly name: string
  readonly type: string
  readonly notnull: number
  readonly dflt_value: string | null
}

const columnsOf = (database: Database, table: string): readonly Column[] =>
  database
    .query<Column, [string]>('SELECT name, type, "notnull", dflt_value FROM pragma_table_info(?)')
    .all(table)

/** A view that is not declared misses events from now on: its rows are of no use any more. */
function forget(database: Database, declared: readonly View[]): void {
  const names = JSON.stringify(declared.map((view) => view.name))
  database
    .query<unknown, [string]>("DELETE FROM view WHERE name NOT IN (SELECT value FROM json_each(?))")
    .run(names)
}
