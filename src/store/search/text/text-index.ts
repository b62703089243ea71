import type { Database } from "bun:sqlite"
import type { TextTable } from "../../view/indexes.ts"
import type { TextCondition } from "./text-condition.ts"
import { openTextFile, type Part, type TextFile } from "./text-file.ts"
import { documentOf } from "./trigram.ts"

export type TextIndex = {
  /** Does a few milliseconds of the pending work. Returns whether more is left. */
  readonly work: (tables: readonly TextTable[]) => boolean
  /** Whether there may be pending work. */
  readonly isBehind: (tables: readonly TextTable[]) => boolean
  /** Whether there is a file, which another thread would have to build again. */
  readonly hasFile: () => boolean
  /** Removes some rows of instances that no longer have any. Returns whether more is left. */
  readonly purge: () => boolean
  /**
   * The index of the rows of an instance. Undefined where the table has no complete index, or one
   * that is too far behind.
   */
  readonly of: (table: string, instance: string) => TextView | undefined
  readonly close: () => void
}

export type TextView = {
  /** The keys of rows that may have changed since they were indexed. */
  readonly changed: readonly string[]
  readonly rows: () => number
  /** Keys of all rows that may meet a condition; undefined if these are more than `most`. */
  readonly find: (condition: TextCondition, most: number) => readonly string[] | undefined
}

export type TextIndexParts = {
  /** The database that is read; a transaction is open whenever the index is used. */
  readonly database: Database
  /** Path of the file of the index. */
  readonly file: string
  /** Shorter tables are searched as fast without an index. */
  readonly rowsMin: number
}

/** Rows that are indexed at a time. */
const [builtAtOnce, changedAtOnce] = [500, 50]
/** Events that are read at a time for the rows that they changed. */
const eventsMax = 10_000
/** To remove more rows takes longer than to build the index again. */
const purgedMax = 10_000
/** With more rows that may have changed, a search does not use the index. */
const changedMax = 1000
/** A table that was short is counted again after so many events. */
const countEvery = 10_000

type Row = Readonly<Record<string, string | null>>
type RowKey = { readonly instance: string; readonly key: string }

type Indexed = TextTable & {
  /** All changes up to here are in the index. */
  position: number
  /** The last row that is in the index, until all are. */
  built: RowKey | undefined
  /** Rows that have changed up to `next` and are not in the index yet. */
  changed: readonly RowKey[]
  next: number
}

/**
 * An FTS5 trigram index of the texts of long tables. It finds candidates, which a statement
 * compares in their table; rows that have changed since are candidates, too. So a search is exact
 * whatever the state of the index.
 *
 * It replaced an index of our own, which kept the texts in blocks and looked through all of them.
 * `scripts/bench/search.ts` asked both in turn among 1,000,000 users, on two cores with nothing
 * else to do: 17 searches of the API and the console for each row. Milliseconds, blocks and FTS5:
 *
 * |                      | median      | 99th percentile |
 * |----------------------|-------------|-----------------|
 * | nothing else         | 54 and 12   | 6,500 and 5,972 |
 * | 50 updates a second  | 726 and 369 | 7,927 and 8,431 |
 * | cold files           | 460 and 55  | 10,393 and 10,792 |
 *
 * The slowest are searches of the console for two characters and for very common texts. FTS5 takes
 * longer, warm and cold, for two characters of an address (3.1 and 5.0 times), for its end (2.4 and
 * 4.5) and for parts that very many addresses have (2.1 and 4.5). Building the index takes 17 s of
 * CPU time instead of 4; its file has 176 MB instead of 262.
 *
 * `detail = none` with one document for each row takes 54 MB and 14 s of CPU for the trigrams;
 * `detail = full` takes 169 MB and 17 s, one column for each text with `detail = column` 259 MB and
 * 16 s, with `detail = full` 543 MB and 20 s. `contentless_delete` keeps the terms of deleted rows.
 */
export function textIndexOf({ database, file, rowsMin }: TextIndexParts): TextIndex {
  const indexed = new Map<string, Indexed>()
  const lengths = lengthsOf({ database, rowsMin })
  let texts: TextFile | undefined
  const head = () => headOf(database)

  const discard = () => {
    texts?.close()
    texts = undefined
    indexed.clear()
  }
  const begin = (tables: readonly TextTable[]) => {
    // A rebuilt view has tables of other names.
    const exists = (name: string) => tables.some(({ table }) => table === name)
    if (![...indexed.keys()].every(exists)) discard()
    for (const table of tables) {
      if (indexed.has(table.table) || !lengths.isLong(table.table)) continue
      const [position, built] = [head(), { instance: "", key: "" }]
      indexed.set(table.table, { ...table, position, built, changed: [], next: position })
    }
  }
  const isIncomplete = (table: Indexed): boolean =>
    table.built !== undefined || table.position < head()
  const workOn = (table: Indexed): boolean => {
    texts ??= openTextFile(file)
    if (table.built) build(database, texts, table)
    else follow(database, texts, { table, head: head() })
    return isIncomplete(table)
  }
  return {
    work: (tables) => {
      try {
        begin(tables)
        return indexed.values().some(workOn)
      } catch {
        // Most likely the disk is full. The index is built again when its table is next counted.
        discard()
        return false
      }
    },
    isBehind: (tables) =>
      tables.some(({ table }) => {
        const found = indexed.get(table)
        return found ? isIncomplete(found) : lengths.isDue(table)
      }),
    hasFile: () => texts !== undefined,
    purge: () => {
      for (const { table } of indexed.values()) {
        const part = texts && goneInstance(database, texts, table)
        if (!texts || !part) continue
        if (texts.rows(part) <= purgedMax) texts.purge(part, changedAtOnce)
        else {
          discard()
          lengths.forget()
        }
        return true
      }
      return false
    },
    of: (name, instance) => {
      const table = indexed.get(name)
      if (!table || table.built || !texts || head() - table.position > eventsMax) return undefined
      if (isIncomplete(table)) workOn(table)
      const changed = changedSince(database, table, { instance }).map(({ key }) => key)
      if (changed.length > changedMax) return undefined
      return { changed, ...viewOf(texts, { table: table.table, instance }) }
    },
    close: discard,
  }
}

/** Which tables are long enough for an index; they are counted only now and then. */
function lengthsOf({ database, rowsMin }: Pick<TextIndexParts, "database" | "rowsMin">) {
  const counted = new Map<string, number>()
  const isDue = (table: string): boolean =>
    headOf(database) >= (counted.get(table) ?? Number.NEGATIVE_INFINITY) + countEvery
  return {
    isDue,
    isLong: (table: string): boolean => {
      if (!isDue(table)) return false
      counted.set(table, headOf(database))
      const count = `SELECT count(*) AS n FROM (SELECT 1 FROM ${table} LIMIT ${rowsMin})`
      return numberOf(database, count) >= rowsMin
    },
    forget: () => counted.clear(),
  }
}

/** Indexes the next rows of a table that is not indexed completely yet. */
function build(database: Database, texts: TextFile, table: Indexed): void {
  const { key, built } = table
  if (!built) return
  const rows = database
    .query<Row, [string, string, number]>(
      `SELECT ${columnsOf(table)} FROM ${table.table} WHERE (instance, ${key}) > (?, ?)
       ORDER BY instance, ${key} LIMIT ?`,
    )
    .all(built.instance, built.key, builtAtOnce)
  texts.within(() => {
    for (const row of rows) set(texts, table, row)
  })
  const last = rows.at(-1)
  table.built = last && { instance: `${last.instance}`, key: `${last[key]}` }
}

function set(texts: TextFile, { table, key, columns }: TextTable, row: Row): void {
  const document = documentOf(columns.map((column) => row[column] ?? null))
  texts.set({ table, instance: `${row.instance}` }, `${row[key]}`, document)
}

type Followed = { readonly table: Indexed; readonly head: number }

/** Indexes the next rows that have changed. */
function follow(database: Database, texts: TextFile, { table, head }: Followed): void {
  if (table.changed.length === 0) {
    table.next = Math.min(head, table.position + eventsMax)
    table.changed = changedSince(database, table, { to: table.next })
  }
  const some = table.changed.slice(0, changedAtOnce)
  const find = database.query<Row, [string, string]>(
    `SELECT ${columnsOf(table)} FROM ${table.table} WHERE instance = ? AND ${table.key} = ?`,
  )
  texts.within(() => {
    for (const { instance, key } of some) {
      const row = find.get(instance, key)
      if (row) set(texts, table, row)
      else texts.remove({ table: table.table, instance }, key)
    }
  })
  table.changed = table.changed.slice(changedAtOnce)
  if (table.changed.length === 0) table.position = table.next
}

/** An indexed instance that has no rows any more: no event names the rows of a removed one. */
function goneInstance(database: Database, texts: TextFile, table: string): Part | undefined {
  const some = database.query<unknown, [string]>(
    `SELECT 1 FROM ${table} WHERE instance = ? LIMIT 1`,
  )
  return texts.parts(table).find(({ instance }) => some.get(instance) === null)
}

function viewOf(
  texts: TextFile,
  part: { readonly table: string; readonly instance: string },
): Omit<TextView, "changed"> {
  const found = new Map<string, readonly string[] | undefined>()
  const find = (value: string, most: number) => {
    if (!found.has(value)) found.set(value, texts.find(part, value, most))
    return found.get(value)
  }
  return {
    rows: () => texts.rows(part),
    find: ({ comparisons }, most) => {
      const keys = new Set<string>()
      for (const { value } of comparisons) {
        const some = find(value, most)
        if (!some) return undefined
        for (const key of some) keys.add(key)
      }
      return keys.size > most ? undefined : [...keys]
    },
  }
}

const columnsOf = ({ key, columns }: TextTable) => ["instance", key, ...columns].join(", ")

type Since = { readonly instance?: string; readonly to?: number }

/** The rows that later events than those of the index may have changed. */
const changedSince = (
  database: Database,
  { position, types }: Indexed,
  { instance, to = Number.MAX_SAFE_INTEGER }: Since,
): readonly RowKey[] =>
  database
    .query<RowKey, [number, number, string | null, string]>(
      `SELECT DISTINCT instance, id AS key FROM event
       WHERE position > ?1 AND position <= ?2 AND (?3 IS NULL OR instance = ?3) AND type IN
         (SELECT code FROM name WHERE name IN (SELECT value FROM json_each(?4)))`,
    )
    .all(position, to, instance ?? null, JSON.stringify(types))

const headOf = (database: Database) => numberOf(database, "SELECT max(position) AS n FROM event")

const numberOf = (database: Database, sql: string): number =>
  database.query<{ n: number | null }, []>(sql).get()?.n ?? 0
