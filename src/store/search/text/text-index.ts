import type { Database } from "bun:sqlite"
import type { TextTable } from "../../view/indexes.ts"
import type { TextCondition } from "./text-condition.ts"
import { openTextFile, type TablePart, type TextFile } from "./text-file.ts"
import { createDocument } from "./trigram.ts"

export type TextIndex = {
  /** Does a few milliseconds of pending work; returns whether more is left. */
  readonly work: (tables: readonly TextTable[]) => boolean
  /** Whether there may be pending work. */
  readonly isBehind: (tables: readonly TextTable[]) => boolean
  /** Whether there is a file, which another thread would have to build again. */
  readonly hasFile: () => boolean
  /** Removes some rows of purged instances; returns whether more is left. */
  readonly purge: () => boolean
  /**
   * The index of an instance's rows; undefined if the table has no complete index, or it is too far
   * behind.
   */
  readonly of: (table: string, instance: string) => TextView | undefined
  readonly close: () => void
}

export type TextView = {
  /** The keys of rows that may have changed since they were indexed. */
  readonly changedKeys: readonly string[]
  readonly rows: () => number
  /** The keys of all rows that may meet a condition; undefined if there are more than `most`. */
  readonly find: (condition: TextCondition, maxKeys: number) => readonly string[] | undefined
}

export type TextIndexParts = {
  /** The database to read; a transaction is open whenever the index is used. */
  readonly database: Database
  /** The path of the index file. */
  readonly file: string
  /** Smaller tables are searched as fast without an index. */
  readonly rowsMin: number
}

/** Rows indexed at a time. */
const [rowsPerBuild, changesPerRun] = [500, 50]
/** Events read at a time to find changed rows. */
const maxEventsPerRead = 10_000
/** Removing more rows takes longer than building the index again. */
const maxPurgedRows = 10_000
/** With more changed rows, a search does not use the index. */
const maxChangedRows = 1000
/** A small table is counted again after this many events. */
const recountInterval = 10_000

type Row = Readonly<Record<string, string | null>>
type RowKey = { readonly instance: string; readonly key: string }

type IndexedTable = TextTable & {
  /** All changes up to this position are indexed. */
  position: number
  /** The last indexed row, until all are indexed. */
  lastIndexed: RowKey | undefined
  /** Rows changed up to `next` that are not indexed yet. */
  pendingChanges: readonly RowKey[]
  next: number
}

/**
 * An FTS5 trigram index of the texts of large tables. It finds candidates, which a statement
 * compares in their table; rows changed since are candidates, too. Therefore a search is exact
 * regardless of the state of the index.
 * It replaced an index of our own that stored the texts in blocks and scanned all of them.
 * `scripts/bench/search.ts` compared both among 1,000,000 users, on two otherwise idle cores: 17
 * searches of the API and the console for each row. Milliseconds, blocks and FTS5:
 * | | median | 99th percentile |
 * |----------------------|-------------|-----------------|
 * | no other load | 54 and 12 | 6,500 and 5,972 |
 * | 50 updates a second | 726 and 369 | 7,927 and 8,431 |
 * | cold files | 460 and 55 | 10,393 and 10,792 |
 * The slowest are console searches for two characters and for very common texts. FTS5 is slower,
 * warm and cold, for two characters of an address (3.1 and 5.0 times), for its end (2.4 and 4.5)
 * and for very common parts (2.1 and 4.5). Building the index takes 17 s of CPU time instead of 4;
 * its file has 176 MB instead of 262.
 * `detail = none` with one document per row takes 54 MB and 14 s of CPU for the trigrams; `detail =
 * full` takes 169 MB and 17 s, one column per text with `detail = column` 259 MB and 16 s, with
 * `detail = full` 543 MB and 20 s. `contentless_delete` keeps the terms of deleted rows.
 */
export function createTextIndex({ database, file, rowsMin }: TextIndexParts): TextIndex {
  const indexed = new Map<string, IndexedTable>()
  const lengths = createLengthCheck({ database, rowsMin })
  let texts: TextFile | undefined
  const head = () => readHead(database)

  const discard = () => {
    texts?.close()
    texts = undefined
    indexed.clear()
  }
  const startIndex = (tables: readonly TextTable[]) => {
    // A rebuilt view has tables with other names.
    const exists = (name: string) => tables.some(({ table }) => table === name)
    if (![...indexed.keys()].every(exists)) discard()
    for (const table of tables) {
      if (indexed.has(table.table) || !lengths.isLong(table.table)) continue
      const [position, lastIndexed] = [head(), { instance: "", key: "" }]
      indexed.set(table.table, {
        ...table,
        position,
        lastIndexed,
        pendingChanges: [],
        next: position,
      })
    }
  }
  const isIncomplete = (table: IndexedTable): boolean =>
    table.lastIndexed !== undefined || table.position < head()
  const workOn = (table: IndexedTable): boolean => {
    texts ??= openTextFile(file)
    if (table.lastIndexed) indexRows(database, texts, table)
    else indexChanges(database, texts, { table, head: head() })
    return isIncomplete(table)
  }
  return {
    work: (tables) => {
      try {
        startIndex(tables)
        return indexed.values().some(workOn)
      } catch {
        // Usually a full disk. The index is built again when its table is next counted.
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
        const part = texts && findPurgedInstance(database, texts, table)
        if (!texts || !part) continue
        if (texts.rows(part) <= maxPurgedRows) texts.purge(part, changesPerRun)
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
      if (!table || table.lastIndexed || !texts || head() - table.position > maxEventsPerRead)
        return undefined
      if (isIncomplete(table)) workOn(table)
      const changed = findChanged(database, table, { instance }).map(({ key }) => key)
      if (changed.length > maxChangedRows) return undefined
      return { changedKeys: changed, ...createView(texts, { table: table.table, instance }) }
    },
    close: discard,
  }
}

/** Which tables are large enough for an index; counted only occasionally. */
function createLengthCheck({ database, rowsMin }: Pick<TextIndexParts, "database" | "rowsMin">) {
  const counted = new Map<string, number>()
  const isDue = (table: string): boolean =>
    readHead(database) >= (counted.get(table) ?? Number.NEGATIVE_INFINITY) + recountInterval
  return {
    isDue,
    isLong: (table: string): boolean => {
      if (!isDue(table)) return false
      counted.set(table, readHead(database))
      const count = `SELECT count(*) AS n FROM (SELECT 1 FROM ${table} LIMIT ${rowsMin})`
      return queryNumber(database, count) >= rowsMin
    },
    forget: () => counted.clear(),
  }
}

/** Indexes the next rows of an incompletely indexed table. */
function indexRows(database: Database, texts: TextFile, table: IndexedTable): void {
  const { key, lastIndexed } = table
  if (!lastIndexed) return
  const rows = database
    .query<Row, [string, string, number]>(
      `SELECT ${columnsOf(table)} FROM ${table.table} WHERE (instance, ${key}) > (?, ?)
       ORDER BY instance, ${key} LIMIT ?`,
    )
    .all(lastIndexed.instance, lastIndexed.key, rowsPerBuild)
  texts.within(() => {
    for (const row of rows) setDocument(texts, table, row)
  })
  const last = rows.at(-1)
  table.lastIndexed = last && { instance: `${last.instance}`, key: `${last[key]}` }
}

function setDocument(texts: TextFile, { table, key, columns }: TextTable, row: Row): void {
  const document = createDocument(columns.map((column) => row[column] ?? null))
  texts.set({ table, instance: `${row.instance}` }, `${row[key]}`, document)
}

type FollowInput = { readonly table: IndexedTable; readonly head: number }

/** Indexes the next changed rows. */
function indexChanges(database: Database, texts: TextFile, { table, head }: FollowInput): void {
  if (table.pendingChanges.length === 0) {
    table.next = Math.min(head, table.position + maxEventsPerRead)
    table.pendingChanges = findChanged(database, table, { to: table.next })
  }
  const some = table.pendingChanges.slice(0, changesPerRun)
  const find = database.query<Row, [string, string]>(
    `SELECT ${columnsOf(table)} FROM ${table.table} WHERE instance = ? AND ${table.key} = ?`,
  )
  texts.within(() => {
    for (const { instance, key } of some) {
      const row = find.get(instance, key)
      if (row) setDocument(texts, table, row)
      else texts.remove({ table: table.table, instance }, key)
    }
  })
  table.pendingChanges = table.pendingChanges.slice(changesPerRun)
  if (table.pendingChanges.length === 0) table.position = table.next
}

/** An indexed instance without rows: no event names the rows of a purged one. */
function findPurgedInstance(
  database: Database,
  texts: TextFile,
  table: string,
): TablePart | undefined {
  const some = database.query<unknown, [string]>(
    `SELECT 1 FROM ${table} WHERE instance = ? LIMIT 1`,
  )
  return texts.parts(table).find(({ instance }) => some.get(instance) === null)
}

function createView(
  texts: TextFile,
  part: { readonly table: string; readonly instance: string },
): Omit<TextView, "changedKeys"> {
  const found = new Map<string, readonly string[] | undefined>()
  const find = (value: string, maxKeys: number) => {
    if (!found.has(value)) found.set(value, texts.find(part, value, maxKeys))
    return found.get(value)
  }
  return {
    rows: () => texts.rows(part),
    find: ({ comparisons }, maxKeys) => {
      const keys = new Set<string>()
      for (const { value } of comparisons) {
        const some = find(value, maxKeys)
        if (!some) return undefined
        for (const key of some) keys.add(key)
      }
      return keys.size > maxKeys ? undefined : [...keys]
    },
  }
}

const columnsOf = ({ key, columns }: TextTable) => ["instance", key, ...columns].join(", ")

type ChangeRange = { readonly instance?: string; readonly to?: number }

/** The rows that events after the index position may have changed. */
const findChanged = (
  database: Database,
  { position, types }: IndexedTable,
  { instance, to = Number.MAX_SAFE_INTEGER }: ChangeRange,
): readonly RowKey[] =>
  database
    .query<RowKey, [number, number, string | null, string]>(
      `SELECT DISTINCT instance, id AS key FROM event
       WHERE position > ?1 AND position <= ?2 AND (?3 IS NULL OR instance = ?3) AND type IN
         (SELECT code FROM name WHERE name IN (SELECT value FROM json_each(?4)))`,
    )
    .all(position, to, instance ?? null, JSON.stringify(types))

const readHead = (database: Database) =>
  queryNumber(database, "SELECT max(position) AS n FROM event")

const queryNumber = (database: Database, sql: string): number =>
  database.query<{ n: number | null }, []>(sql).get()?.n ?? 0
