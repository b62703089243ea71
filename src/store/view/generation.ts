import type { Database } from "bun:sqlite"
import { headOf } from "../log/row.ts"
import { createTableStatements, type TableLayout, type View } from "./view.ts"

/** The physical tables of a view, numbered by generation. */
export type TableGeneration = { readonly view: View; readonly generation: number }

export const physicalName = (table: string, generation: number): string => `${table}_${generation}`

type ViewTables = View["tables"]
type Row = {
  readonly name: string
  readonly hash: string
  readonly generation: number
  /** The declaration of the tables in this generation. */
  readonly tables: string
}

const readGenerations = (database: Database) => database.query<Row, []>("SELECT * FROM view").all()

/** Finds or creates the tables of all views; `stale` are those to rebuild. */
export function placeViews(database: Database, views: readonly View[]) {
  const stored = new Map(readGenerations(database).map((row) => [row.name, row]))
  const empty = headOf(database) === 0
  const stale: View[] = []
  const live = views.map((view) => {
    const row = stored.get(view.name)
    if (row?.hash === view.hash) return { view, generation: row.generation }
    if (!empty) stale.push(view)
    if (row && !empty) return adaptTables(database, view, row)
    return createGeneration(database, view, empty ? view.hash : "")
  })
  dropUndeclared(database, views)
  return { live, stale }
}

/** Records the current generation of a view, and the hash of its declaration. */
export function recordGeneration(
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
  // Processes that only read the file check this on every request.
  database.run(
    `INSERT INTO meta (key, value) VALUES ('views', 1)
     ON CONFLICT DO UPDATE SET value = value + 1`,
  )
}

/** The tables that another process has created, and the views that it is rebuilding. */
export function findPlacedViews(database: Database, views: readonly View[]) {
  const stored = new Map(readGenerations(database).map((row) => [row.name, row]))
  const live = views.map((view) => {
    const row = stored.get(view.name)
    if (!row) throw new Error(`no process has created the tables of the view ${view.name}`)
    return { view, generation: row.generation }
  })
  const stale = views.filter((view) => stored.get(view.name)?.hash !== view.hash)
  return { live, stale: stale.map(({ name }) => name) }
}

/** Whether a view's rows match its current reducers. */
export const isCurrent = (database: Database, { view }: TableGeneration): boolean =>
  readGenerations(database).some(({ name, hash }) => name === view.name && hash === view.hash)

/** Creates empty tables with a number that none of the view's tables has used. */
export function createTables(database: Database, view: View): TableGeneration {
  const used = viewTables(database).map((name) => Number(name.match(/\d+$/)?.[0]))
  const generation = Math.max(0, ...used) + 1
  for (const [name, table] of Object.entries(view.tables)) {
    for (const sql of createTableStatements(physicalName(name, generation), table))
      database.run(sql)
  }
  return { view, generation }
}

/** Unused tables: left by a rebuild, an interrupted one, or a reshape. */
export function unusedTables(database: Database): readonly string[] {
  const used = new Set(
    readGenerations(database).flatMap(({ generation, tables }) =>
      Object.keys(JSON.parse(tables)).map((name) => physicalName(name, generation)),
    ),
  )
  return viewTables(database).filter((name) => !used.has(name))
}

/** The log's own tables never end in a number; see the schema. */
const viewTables = (database: Database): readonly string[] =>
  database
    .query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'")
    .all()
    .map((row) => row.name)
    .filter((name) => /_\d+$/.test(name))

function createGeneration(database: Database, view: View, hash: string): TableGeneration {
  return database.transaction(() => {
    const placed = createTables(database, view)
    recordGeneration(database, placed, hash)
    return placed
  })()
}

/**
 * Makes the old rows usable by the current reducers and queries until the rebuild replaces them.
 * New tables and columns are added in place; other changes copy the rows into the new layout.
 */
function adaptTables(database: Database, view: View, row: Row): TableGeneration {
  const old: ViewTables = JSON.parse(row.tables)
  return database.transaction(() => {
    const placed = isOnlyAdditive(old, view.tables)
      ? addColumns(database, { view, generation: row.generation })
      : copyTables(database, view, row.generation)
    recordGeneration(database, placed, row.hash)
    return placed
  })()
}

const isOnlyAdditive = (old: ViewTables, now: ViewTables): boolean =>
  Object.entries(now).every(([name, table]) => {
    const before = old[name]
    if (!before) return true
    const definitions = splitDefinitions(table)
    return (
      before.key === table.key &&
      JSON.stringify(before.unique) === JSON.stringify(table.unique) &&
      splitDefinitions(before).every((definition) => definitions.includes(definition))
    )
  })

/** The comma-separated parts of a table's declaration. */
const splitDefinitions = (table: TableLayout): readonly string[] =>
  table.columns.split(/,(?![^(]*\))/).map((definition) => definition.trim())

function addColumns(database: Database, placed: TableGeneration): TableGeneration {
  for (const [name, table] of Object.entries(placed.view.tables)) {
    const target = physicalName(name, placed.generation)
    const exists = columnsOf(database, target).map((column) => column.name)
    if (exists.length === 0) {
      for (const sql of createTableStatements(target, table)) database.run(sql)
      continue
    }
    const columns = splitDefinitions(table).map((definition) => definition.split(/\s+/)[0] ?? "")
    for (const column of columns.filter((each) => !constraint.test(each))) {
      if (!exists.includes(column)) database.run(`ALTER TABLE ${target} ADD COLUMN ${column}`)
    }
  }
  return placed
}
const constraint = /^(CHECK|CONSTRAINT|FOREIGN|PRIMARY|UNIQUE)\b/i

function copyTables(database: Database, view: View, from: number): TableGeneration {
  const placed = createTables(database, view)
  for (const name of Object.keys(view.tables)) {
    const source = physicalName(name, from)
    const exists = columnsOf(database, source).map((column) => column.name)
    if (exists.length === 0) continue
    const target = physicalName(name, placed.generation)
    const columns = columnsOf(database, target)
    const values = columns.map((column) => oldValue(column, exists.includes(column.name)))
    // If the new key merges two rows, the first one is kept until the rebuild.
    database.run(
      `INSERT OR IGNORE INTO ${target} (${columns.map((column) => column.name).join(", ")})
       SELECT ${values.join(", ")} FROM ${source}`,
    )
  }
  return placed
}

/** A column's old value, or a substitute if it must not be null. */
function oldValue({ name, type, notnull, dflt_value }: Column, exists: boolean): string {
  const substitute = dflt_value ?? (notnull ? (/INT|REAL|NUM/i.test(type) ? "0" : "''") : "NULL")
  return exists ? `coalesce(${name}, ${substitute})` : substitute
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

/** A view that is not declared misses events: its rows are useless. */
function dropUndeclared(database: Database, declared: readonly View[]): void {
  const names = JSON.stringify(declared.map((view) => view.name))
  database
    .query<unknown, [string]>("DELETE FROM view WHERE name NOT IN (SELECT value FROM json_each(?))")
    .run(names)
}
