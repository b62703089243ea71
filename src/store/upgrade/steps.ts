import type { Database } from "bun:sqlite"
import { createNames } from "../log/row.ts"
import { migrations, schemaVersion } from "../log/schema.ts"
import { physicalName } from "../view/generation.ts"

/** A change that an upgrade makes, with its extent. */
export type UpgradeStep = {
  readonly kind: keyof typeof undoMethods
  /** "3 to 4" for tables; a stream; or a list. */
  readonly name: string
  readonly description: string
  readonly count: number
  readonly unit: "rows" | "events"
}

/** How each kind of step is undone; docs/operate/upgrade.md contains the same. */
export const undoMethods = {
  tables: "latchkey upgrade undo",
  states: "latchkey upgrade undo, or start the previous version",
  lists: "start the previous version, which builds its own",
} as const

/** How the upgrade of a log in PostgreSQL is undone; operators back up the database themselves. */
export const postgresUndoMethod =
  "start the previous version, or restore a dump of the schema latchkey"

type OutdatedData = {
  /** The schema version of the database. */
  readonly from: number
  readonly states: readonly string[]
  readonly views: readonly string[]
}

/** Every step from an older database to this version, with its extent; read-only. */
export function listSteps(
  database: Database,
  { from, states, views }: OutdatedData,
): UpgradeStep[] {
  const tables = [...migrations].flatMap(([version, { description, table }]): UpgradeStep[] => {
    if (version < from || version >= schemaVersion) return []
    const count = table ? countRows(database, table) : 0
    return [
      { kind: "tables", name: `${version} to ${version + 1}`, description, count, unit: "rows" },
    ]
  })
  const events = states.length > 0 ? countEvents(database) : new Map<string, number>()
  const folded = states.map((name): UpgradeStep => {
    const description = `states of ${name} are computed again from their events`
    return { kind: "states", name, description, count: events.get(name) ?? 0, unit: "events" }
  })
  const built = views.map((name): UpgradeStep => {
    const description = `the list ${name} is rebuilt in the background`
    return { kind: "lists", name, description, count: countListRows(database, name), unit: "rows" }
  })
  return [...tables, ...folded, ...built]
}

function countRows(database: Database, table: string): number {
  const sql = `SELECT count(*) AS count FROM "${table}"`
  return hasTable(database, table) ? (database.query<CountRow, []>(sql).get()?.count ?? 0) : 0
}

type CountRow = { readonly count: number }

/** The number of events by stream. */
function countEvents(database: Database): ReadonlyMap<string, number> {
  const names = createNames(database)
  const rows = database.query<CountRow & { readonly stream: number }, []>(
    "SELECT stream, count(*) AS count FROM event GROUP BY stream",
  )
  return new Map(rows.all().map(({ stream, count }) => [names.name(stream), count]))
}

/** The number of rows in a list's current tables; 0 for a new list. */
function countListRows(database: Database, view: string): number {
  if (!hasTable(database, "view")) return 0
  const row = database
    .query<{ generation: number; tables: string }, [string]>(
      "SELECT generation, tables FROM view WHERE name = ?",
    )
    .get(view)
  const tables = row ? Object.keys(JSON.parse(row.tables)) : []
  return tables
    .map((table) => countRows(database, physicalName(table, row?.generation ?? 0)))
    .reduce((sum, count) => sum + count, 0)
}

export function hasTable(database: Database, name: string): boolean {
  const found = database.query<unknown, [string]>(
    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?",
  )
  return found.get(name) !== null
}
