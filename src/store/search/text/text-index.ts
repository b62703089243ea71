import type { Database } from "bun:sqlite"
import type { TextTable } from "../../view/indexes.ts"
import type { TextMethod } from "../condition.ts"
import { blockOf, findIn, soughtOf, textsAt } from "./text-block.ts"
import { type BlockFile, type Blocks, openBlockFile, type Range } from "./text-file.ts"

/** How a text in a column has to be. */
export type Sought = {
  readonly column: string
  readonly method: TextMethod
  readonly value: string
}

/** A condition that is fulfilled where any of some texts is as it has to be. */
export type TextCondition = {
  /** What stands for it in a statement. */
  readonly name: string
  readonly texts: readonly Sought[]
  /** Whether no other index finds it. */
  readonly isAnywhere: boolean
}

/** How many rows fulfil a condition, and their keys where they are few. */
export type TextFound = { readonly total: number; readonly keys: readonly string[] | undefined }

export type TextIndex = {
  /** Does a few milliseconds of what is to be done, and answers whether more is left. */
  readonly work: (tables: readonly TextTable[]) => boolean
  /** Whether there may be something to be done. */
  readonly isBehind: (tables: readonly TextTable[]) => boolean
  /** Whether there is anything that another thread would have to make again. */
  readonly hasBlocks: () => boolean
  /** Lets go of instances that have no rows any more. */
  readonly purge: () => void
  /**
   * What is known of the rows of an instance. Undefined where there is no index of the table, or it
   * is too far behind.
   */
  readonly of: (table: string, instance: string) => TextView | undefined
  readonly close: () => void
}

export type TextView = {
  /** The keys of rows that may have changed since. */
  readonly changed: readonly string[]
  readonly rows: () => number
  /** Of more than `most` the total is only told where it is to be counted. */
  readonly find: (
    condition: TextCondition,
    how: { readonly most: number; readonly isCounted: boolean },
  ) => TextFound
}

export type TextIndexParts = {
  /** The database that is read; it is within a transaction whenever the index is asked. */
  readonly database: Database
  /** Where the file of the index is made. */
  readonly file: string
  /** Shorter tables are read as quickly as they are. */
  readonly rowsMin: number
}

/** Rows of a block. Whatever changes one of them writes the block again. */
const blockRows = 1000
/** Blocks that are written at a time. */
const blocksAtOnce = 2
/** So many events are looked through for the rows that they changed. */
const eventsMax = 10_000
/** With more rows that may have changed, the index is of no use. */
const changedMax = 1000
/** A table that was short is looked at again after so many events. */
const lookEvery = 10_000

type Row = Readonly<Record<string, string | null>>

type Indexed = TextTable & {
  /** All that is written up to here is in the blocks. */
  position: number
  /** The last row that is in a block, until all are. */
  built: { readonly instance: string; readonly key: string } | undefined
  /** Ranges with rows that have changed up to `next`. */
  stale: readonly Range[]
  next: number
}

/**
 * The texts of long tables once more, column by column, in blocks of many rows: SQLite reads row by
 * row, and a text that may be anywhere is found ten times as fast by looking through bytes. What is
 * found are candidates, which a statement looks at in their table; rows that have changed since the
 * blocks were written are candidates, too. So an answer is exact however far the index is.
 *
 * A block is a copy of a range of keys. Whatever happened to one of its rows, it is written again,
 * and nothing is left of what was. Its file has no name: it goes with the process, however that
 * ends, and the next one makes it anew.
 */
export function textIndexOf({ database, file, rowsMin }: TextIndexParts): TextIndex {
  const indexed = new Map<string, Indexed>()
  const looked = new Map<string, number>()
  let blocks: BlockFile | undefined
  const head = () => numberOf(database, "SELECT max(position) AS n FROM event")

  const forget = () => {
    blocks?.close()
    blocks = undefined
    indexed.clear()
  }
  const isDue = (table: string): boolean =>
    head() >= (looked.get(table) ?? Number.NEGATIVE_INFINITY) + lookEvery
  const isLong = (table: string): boolean => {
    if (!isDue(table)) return false
    looked.set(table, head())
    const count = `SELECT count(*) AS n FROM (SELECT 1 FROM ${table} LIMIT ${rowsMin})`
    return numberOf(database, count) >= rowsMin
  }
  const begin = (tables: readonly TextTable[]) => {
    // What others took the place of.
    const isThere = (name: string) => tables.some(({ table }) => table === name)
    if (![...indexed.keys()].every(isThere)) forget()
    for (const table of tables) {
      if (indexed.has(table.table) || !isLong(table.table)) continue
      const [position, built] = [head(), { instance: "", key: "" }]
      indexed.set(table.table, { ...table, position, built, stale: [], next: position })
    }
  }
  const lacks = (table: Indexed): boolean => table.built !== undefined || table.position < head()
  const workOn = (table: Indexed): boolean => {
    blocks ??= openBlockFile(file)
    if (table.built) build(database, blocks, table)
    else follow(database, blocks, { table, head: head() })
    return lacks(table)
  }
  return {
    work: (tables) => {
      try {
        begin(tables)
        return indexed.values().some(workOn)
      } catch {
        // A full disk, most likely. It is tried again when the table is looked at again.
        forget()
        return false
      }
    },
    isBehind: (tables) =>
      tables.some(({ table }) => {
        const found = indexed.get(table)
        return found ? lacks(found) : isDue(table)
      }),
    hasBlocks: () => blocks !== undefined,
    purge: () => {
      for (const table of indexed.values()) if (blocks) purge(database, blocks, table)
    },
    of: (name, instance) => {
      const table = indexed.get(name)
      if (!table || table.built || !blocks || head() - table.position > eventsMax) return undefined
      if (lacks(table)) workOn(table)
      const changed = changedSince(database, table, { instance }).map(({ key }) => key)
      if (changed.length > changedMax) return undefined
      return { changed, ...viewOf(blocks, { table, instance }) }
    },
    close: forget,
  }
}

/** Writes the next blocks of a table that has not all of them yet. */
function build(database: Database, blocks: BlockFile, table: Indexed): void {
  const { key, built } = table
  if (!built) return
  const rows = database
    .query<Row, [string, string, number]>(
      `SELECT ${columnsOf(table)} FROM ${table.table} WHERE (instance, ${key}) > (?, ?)
       ORDER BY instance, ${key} LIMIT ?`,
    )
    .all(built.instance, built.key, blockRows * blocksAtOnce)
  blocks.within(() => {
    for (const [instance, own] of Map.groupBy(rows, (row) => `${row.instance}`)) {
      // The first range of an instance has all that comes before the second one.
      const first = instance === built.instance ? `${own[0]?.[key]}` : ""
      writeRows(blocks, table, { rows: own, range: { table: table.table, instance, first } })
    }
  })
  const last = rows.at(-1)
  table.built = last && { instance: `${last.instance}`, key: `${last[key]}` }
}

type At = { readonly table: Indexed; readonly head: number }

/** Writes blocks again whose rows have changed. */
function follow(database: Database, blocks: BlockFile, { table, head }: At): void {
  if (table.stale.length === 0) {
    table.next = Math.min(head, table.position + eventsMax)
    table.stale = changedRanges(blocks, table, changedSince(database, table, { to: table.next }))
  }
  const some = table.stale.slice(0, blocksAtOnce)
  blocks.within(() => {
    for (const range of some) writeAgain(database, blocks, { table, range })
  })
  table.stale = table.stale.slice(blocksAtOnce)
  if (table.stale.length === 0) table.position = table.next
}

type Changed = { readonly instance: string; readonly key: string }

function changedRanges(
  blocks: BlockFile,
  { table }: Indexed,
  changed: readonly Changed[],
): readonly Range[] {
  const ranges = changed.map(({ instance, key }) => {
    const first = blocks.at({ table, instance, first: key })?.first ?? ""
    return [JSON.stringify([instance, first]), { table, instance, first }] as const
  })
  return [...new Map(ranges).values()]
}

type InTable = { readonly table: Indexed; readonly range: Range }

/** A range, as its rows are now. */
function writeAgain(database: Database, blocks: BlockFile, { table, range }: InTable): void {
  const { key } = table
  const { instance, first } = range
  const below = blocks.next(range)
  const rows = database
    .query<Row, (string | null)[]>(
      `SELECT ${columnsOf(table)} FROM ${table.table}
       WHERE instance = ?1 AND ${key} >= ?2 AND (?3 IS NULL OR ${key} < ?3) ORDER BY ${key}`,
    )
    .all(instance, first, below)
  const before = blocks.at(range)
  if (before?.first === first) blocks.remove(before)
  writeRows(blocks, table, { range, rows })
}

type Rows = { readonly range: Range; readonly rows: readonly Row[] }

function writeRows(blocks: BlockFile, table: Indexed, { range, rows }: Rows): void {
  const { key, columns } = table
  for (let from = 0; from < rows.length; from += blockRows) {
    const own = rows.slice(from, from + blockRows)
    const first = from === 0 ? range.first : `${own[0]?.[key]}`
    const texts = (column: string) => blockOf(own.map((row) => row[column] ?? ""))
    blocks.write({ ...range, first }, { rows: own.length, columns: [key, ...columns].map(texts) })
  }
}

/** No event tells of rows that went with their instance. */
function purge(database: Database, blocks: BlockFile, { table }: Indexed): void {
  const some = database.query<unknown, [string]>(
    `SELECT 1 FROM ${table} WHERE instance = ? LIMIT 1`,
  )
  for (const instance of blocks.instances(table)) {
    if (some.get(instance) !== null) continue
    for (const each of blocks.all({ table, instance })) blocks.remove(each)
  }
}

function viewOf(file: BlockFile, { table, instance }: { table: Indexed; instance: string }) {
  const all = file.all({ table: table.table, instance })
  const find: TextView["find"] = ({ texts }, { most, isCounted }) => {
    const wanted = texts.map(({ column, method, value }) => ({
      number: 1 + table.columns.indexOf(column),
      sought: soughtOf(value, method),
    }))
    const found: { readonly blocks: Blocks; readonly rows: ReadonlySet<number> }[] = []
    let total = 0
    for (const blocks of all) {
      const rows = new Set<number>()
      for (const { number, sought } of wanted) findIn(file.texts(blocks, number), sought, rows)
      total += rows.size
      if (total > most && !isCounted) break
      if (total <= most && rows.size > 0) found.push({ blocks, rows })
    }
    if (total > most) return { total, keys: undefined }
    const keysIn = ({ blocks, rows }: (typeof found)[number]) =>
      textsAt(
        file.texts(blocks, 0),
        [...rows].sort((one, other) => one - other),
      )
    return { total, keys: found.flatMap(keysIn) }
  }
  return { rows: () => all.reduce((sum, { rows }) => sum + rows, 0), find }
}

const columnsOf = ({ key, columns }: TextTable) => ["instance", key, ...columns].join(", ")

type Since = { readonly instance?: string; readonly to?: number }

/** The rows that events after those of the blocks may have changed. */
const changedSince = (
  database: Database,
  { position, types }: Indexed,
  { instance, to = Number.MAX_SAFE_INTEGER }: Since,
): readonly Changed[] =>
  database
    .query<Changed, [number, number, string | null, string]>(
      `SELECT DISTINCT instance, id AS key FROM event
       WHERE position > ?1 AND position <= ?2 AND (?3 IS NULL OR instance = ?3) AND type IN
         (SELECT code FROM name WHERE name IN (SELECT value FROM json_each(?4)))`,
    )
    .all(position, to, instance ?? null, JSON.stringify(types))

const numberOf = (database: Database, sql: string): number =>
  database.query<{ n: number | null }, []>(sql).get()?.n ?? 0
