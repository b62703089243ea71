import type { Database } from "bun:sqlite"
import { type Change, type IndexPlace, inIndex, type Ledger, ledgerOf, rowOf } from "./ledger.ts"
import { type Placement, physical } from "./placement.ts"
import { type Table, unusual } from "./view.ts"

/** The ledgers of those indexes that searches have asked for, true to the tables. */
export type Ledgers = {
  /** The index of a table that is sorted by a column, if it is there already. */
  readonly index: (table: string, column: string) => IndexPlace | undefined
  readonly of: (instance: string, place: IndexPlace) => Ledger
  /** An event was reduced; what nobody asks for is not noted for ever. */
  readonly reduced: () => void
  /** Whether an instance has so many rows there; a table that was long once stays so. */
  readonly isLong: (instance: string, place: IndexPlace, rows: number) => boolean
  /** The rows of a view lie there from now on. */
  readonly place: (placement: Placement) => void
}

/** Beyond so many events without a search, what changed is not worth noting any more. */
const eventsMax = 20_000
/** Characters of texts in memory, beside those of the one looked through and the one rolled. */
const sizeMax = 15_000_000

type Noted = Change & { readonly place: string; readonly instance: string }

/**
 * Temporary triggers note what changes in an index from the moment that its ledger is made, in a
 * temporary table: what a transaction undoes was not noted either. `flush` ends the open
 * transaction, so that what has been noted stands.
 */
export function ledgersOf(
  database: Database,
  placements: readonly Placement[],
  flush: () => void,
): Ledgers {
  const places = new Map<string, IndexPlace>()
  /** By index and instance; whoever was asked longest ago is the first. */
  const ledgers = new Map<string, Ledger>()
  const watched = new Set<string>()
  const long = new Set<string>()
  let reduced = 0

  const place = ({ view, generation }: Placement) => {
    for (const [name, table] of Object.entries(view.tables)) {
      const old = [...places].filter(([key]) => key.startsWith(`${name}.`))
      for (const [key, { name: index }] of old) {
        places.delete(key)
        if (watched.delete(index)) unwatch(database, index)
      }
      const target = physical(name, generation)
      for (const found of indexesOf(database, target, table)) {
        if (!places.has(`${name}.${found.key}`)) places.set(`${name}.${found.key}`, found)
      }
    }
    ledgers.clear()
  }
  const catchUp = () => {
    flush()
    reduced = 0
    if (watched.size === 0) return
    const noted = database.query<Noted, []>("SELECT * FROM temp.noted ORDER BY rowid").all()
    if (noted.length === 0) return
    database.run("DELETE FROM temp.noted")
    for (const [name, changes] of Map.groupBy(noted, (each) => `${each.place}/${each.instance}`)) {
      ledgers.get(name)?.note(changes)
    }
  }
  for (const placement of placements) place(placement)

  return {
    index: (table, column) => places.get(`${table}.${column}`),
    of: (instance, index) => {
      catchUp()
      if (!watched.has(index.name)) {
        watch(database, index)
        watched.add(index.name)
      }
      const name = `${index.name}/${instance}`
      const ledger = ledgers.get(name) ?? ledgerOf(database, index, instance)
      ledgers.delete(name)
      trim(ledgers, ledger)
      ledgers.set(name, ledger)
      return ledger
    },
    reduced: () => {
      if (++reduced < eventsMax || watched.size === 0) return
      reduced = 0
      ledgers.clear()
      database.run("DELETE FROM temp.noted")
    },
    isLong: (instance, index, rows) => {
      const key = `${rows}/${index.name}/${instance}`
      if (!long.has(key) && hasMore(database, index, instance, rows)) long.add(key)
      return long.has(key)
    },
    place,
  }
}

function hasMore(
  database: Database,
  { table, name }: IndexPlace,
  ...[instance, rows]: [string, number]
): boolean {
  const some = `SELECT 1 FROM ${table} INDEXED BY ${name} WHERE instance = ? LIMIT 1 OFFSET ?`
  return database.query(some).get(instance, rows) !== null
}

/**
 * Lets go of texts that were looked through longest ago. What was rolled last is kept, of all
 * ledgers only that one: a search goes from it to others and back.
 */
function trim(ledgers: ReadonlyMap<string, Ledger>, current: Ledger): void {
  const all = [...ledgers.values()]
  const rolled = current.isRolled() ? current : all.findLast((ledger) => ledger.isRolled())
  const others = all.filter((ledger) => ledger !== rolled)
  let sum = others.reduce((size, ledger) => size + ledger.size(), 0)
  for (const ledger of others) {
    if (sum <= sizeMax) return
    sum -= ledger.size()
    ledger.forget()
  }
}

type ColumnRow = { readonly name: string; readonly type: string; readonly notnull: number }

/** The texts of rows that stand in the order of a list; none in an index of another declaration. */
function carriedBy(
  list: string,
  sql: string,
  { table, columns }: { readonly table: Table; readonly columns: readonly ColumnRow[] },
): readonly string[] {
  const names = list.split(",").map((column) => column.trim())
  if (names[1] !== table.key || !sql.endsWith(`(instance, ${list})`)) return []
  const texts = columns.filter(({ type, notnull }) => type === "TEXT" && notnull)
  return names.filter((name) => texts.some((text) => text.name === name))
}

const events = ["INSERT", "UPDATE", "DELETE"] as const

function watch(database: Database, place: IndexPlace): void {
  const { table, name, key, raw, beside, carried } = place
  database.run(
    `CREATE TEMP TABLE IF NOT EXISTS noted (place TEXT NOT NULL, instance TEXT NOT NULL,
       key NOT NULL, raw TEXT, row TEXT, sign INTEGER NOT NULL)`,
  )
  const note = (row: "OLD" | "NEW", sign: number) =>
    `INSERT INTO noted SELECT '${name}', ${row}.instance, ${row}.${key},
       ${raw ? `${row}.${raw}` : "NULL"}, ${beside.length > 0 ? rowOf(place, `${row}.`) : "NULL"},
       ${sign} WHERE ${inIndex({ ...place, key: `${row}.${key}` }, "true")};`
  const [came, went] = [note("NEW", 1), note("OLD", -1)]
  const columns = [...new Set([key, ...(raw ? [raw] : []), ...beside, ...carried])].join(", ")
  const bodies = { INSERT: came, UPDATE: went + came, DELETE: went }
  for (const event of events) {
    const what = event === "UPDATE" ? `UPDATE OF ${columns}` : event
    database.run(
      `CREATE TEMP TRIGGER ${name}_${event} AFTER ${what} ON main.${table}
       BEGIN ${bodies[event]} END`,
    )
  }
}

function unwatch(database: Database, name: string): void {
  for (const event of events) database.run(`DROP TRIGGER IF EXISTS temp.${name}_${event}`)
}

/**
 * Indexes that are there: one that is declared anew comes with the rebuild. Of several that are
 * sorted by the same column the first one counts.
 */
function indexesOf(database: Database, target: string, table: Table): readonly IndexPlace[] {
  const columns = database
    .query<ColumnRow, [string]>('SELECT name, type, "notnull" FROM pragma_table_info(?)')
    .all(target)
  const there = new Map(
    database
      .query<{ name: string; sql: string }, [string]>(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql <> ''",
      )
      .all(target)
      .map(({ name, sql }) => [name, sql] as const),
  )
  return Object.entries(table.indexes ?? {}).flatMap(([index, list]): readonly IndexPlace[] => {
    const [key = "", second = "", ...others] = list.split(",").map((column) => column.trim())
    const column = columns.find(({ name }) => name === key)
    const name = `${target}_${index}`
    const sql = there.get(name)
    if (!column?.notnull || sql === undefined) return []
    const raw = key === `${second}_folded` ? second : undefined
    const beside = others.filter((other) => other.endsWith("_folded"))
    const isText = column.type === "TEXT"
    const carried = carriedBy(list, sql, { table, columns })
    const found = { table: target, name, key, raw, beside, carried, isText, usual: undefined }
    if (!/ WHERE /.test(sql)) return [found]
    // Made with another text in mind, it is of no use until the rebuild has replaced it.
    const usual = table.usual?.[index]
    if (usual === undefined || !isText || !sql.endsWith(unusual(table, index))) return []
    // Only where both are empty does one spelling say the other.
    return [{ ...found, raw: usual === "" ? raw : undefined, usual }]
  })
}
