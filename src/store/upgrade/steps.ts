import type { Database } from "bun:sqlite"
import { namesOf } from "../log/row.ts"
import { migrations, schemaVersion } from "../log/schema.ts"
import { physical } from "../view/generation.ts"

/** One change that an upgrade makes, counted before it is made. */
export type UpgradeStep = {
  readonly kind: keyof typeof waysBack
  /** "3 to 4" of tables; a kind of streams; a list. */
  readonly name: string
  readonly description: string
  readonly count: number
  readonly unit: "rows" | "events"
}

/** How each kind of step is undone; docs/operate/upgrade.md describes the same. */
export const waysBack = {
  tables: "latchkey upgrade undo",
  states: "latchkey upgrade undo, or start the version before",
  lists: "start the version before, which builds its own",
} as const

/** How an upgrade of a log in PostgreSQL is undone; the database is the operator's to copy. */
export const postgresWayBack = "start the version before, or restore a dump of the schema latchkey"

type OutdatedParts = {
  /** Version of the tables in the database. */
  readonly from: number
  readonly states: readonly string[]
  readonly views: readonly string[]
}

/** Every step from an older database to this version, with its count; only reads. */
export function stepsOf(database: Database, { from, states, views }: OutdatedParts): UpgradeStep[] {
  const tables = [...migrations].flatMap(([version, { description, table }]): UpgradeStep[] => {
    if (version < from || version >= schemaVersion) return []
    const count = table ? rowsIn(database, table) : 0
    return [
      { kind: "tables", name: `${version} to ${version + 1}`, description, count, unit: "rows" },
    ]
  })
  const events = states.length > 0 ? eventsOf(database) : new Map<string, number>()
  const folded = states.map((name): UpgradeStep => {
    const description = `states of ${name} are computed again from their events`
    return { kind: "states", name, description, count: events.get(name) ?? 0, unit: "events" }
  })
  const built = views.map((name): UpgradeStep => {
    const description = `the list ${name} is built again in the background`
    return { kind: "lists", name, description, count: listed(database, name), unit: "rows" }
  })
  return [...tables, ...folded, ...built]
}

function rowsIn(database: Database, table: string): number {
  const sql = `SELECT count(*) AS count FROM "${table}"`
  return hasTable(database, table) ? (database.query<Counted, []>(sql).get()?.count ?? 0) : 0
}

type Counted = { readonly count: number }

/** How many events there are of each kind of streams. */
function eventsOf(database: Database): ReadonlyMap<string, number> {
  const names = namesOf(database)
  const rows = database.query<Counted & { readonly stream: number }, []>(
    "SELECT stream, count(*) AS count FROM event GROUP BY stream",
  )
  return new Map(rows.all().map(({ stream, count }) => [names.name(stream), count]))
}

/** The rows of a list as it was built last; 0 of a new one. */
function listed(database: Database, view: string): number {
  if (!hasTable(database, "view")) return 0
  const row = database
    .query<{ generation: number; tables: string }, [string]>(
      "SELECT generation, tables FROM view WHERE name = ?",
    )
    .get(view)
  const tables = row ? Object.keys(JSON.parse(row.tables)) : []
  return tables
    .map((table) => rowsIn(database, physical(table, row?.generation ?? 0)))
    .reduce((sum, count) => sum + count, 0)
}

export function hasTable(database: Database, name: string): boolean {
  const found = database.query<unknown, [string]>(
    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?",
  )
  return found.get(name) !== null
}
