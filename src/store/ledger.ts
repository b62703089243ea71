import type { Database } from "bun:sqlite"
import { type Column, columnIn, folded, isSame, listing, separator, textAt } from "./column.ts"
import { literal } from "./view.ts"

export type Key = string | number

/** Rows whose key is not before `from` and is before `below`; without it, to the end. */
export type Range = { readonly from: Key; readonly below?: Key | undefined }

/** An index under its physical name. */
export type IndexPlace = {
  readonly table: string
  readonly name: string
  /** The column that it is sorted by. */
  readonly key: string
  /** The column that the key is the folded form of, where the index has it, too. */
  readonly raw: string | undefined
  /** Other folded texts in the index, which can be looked through together with the key. */
  readonly beside: readonly string[]
  /** All texts of a row that the index has, where it has the rows in the order of their list. */
  readonly carried: readonly string[]
  readonly isText: boolean
  /** What the rows have there that are not in the index; undefined where it has all rows. */
  readonly usual: string | undefined
}

/** What an index finds by, with what says that it has these rows. */
export const inIndex = ({ key, usual }: IndexPlace, sql: string): string =>
  usual === undefined ? sql : `${key} <> ${literal(usual)} AND ${sql}`

/** A spelling of a row: its key, that before folding, or the key and what is beside it. */
export type Spelling = "key" | "raw" | "row"

/** Looks for rows one of whose spellings is like this; where they are few, it tells these. */
export type Wanted = {
  readonly as: Spelling
  readonly how: "equals" | "starts_with" | "contains" | "ends_with"
  readonly value: string
  readonly few: number
  /** Keys that need not be looked at lie outside of it. */
  readonly within?: Range | undefined
  /** Looks for the rows that are not like this. */
  readonly isNot?: boolean
}
export type Held = { readonly rows: number; readonly texts: readonly string[] | undefined }

export type Change = {
  readonly key: Key
  readonly raw: string | null
  readonly row: string | null
  readonly sign: number
}

/**
 * What one index holds of one instance, counted in memory block by block: so a total needs no walk
 * through a million rows, nor does a far page, and texts are looked through in milliseconds.
 */
export type Ledger = {
  readonly rows: (range?: Range) => number
  /** The row of a rank is so many rows after the first one with this key. */
  readonly at: (rank: number) => { readonly from: Key; readonly skip: number }
  /** Undefined where memory can't tell. */
  readonly held: (what: Wanted) => Held | undefined
  /** Rows that came and went; the table is past all of it. */
  readonly note: (changes: readonly Change[]) => void
  readonly blocks: () => readonly Pick<Block, "from" | "rows">[]
  /** The block that a key belongs to. */
  readonly blockOf: (key: Key) => number
  /** What the rows of a block have in a column; undefined where memory can't tell. */
  readonly column: (at: number, name: string) => Column | undefined
  /** The texts of few rows of a block, which are read by themselves where that is quicker. */
  readonly texts: (
    at: number,
    name: string,
    rows: readonly number[],
  ) => readonly string[] | undefined
  /** Lets go of columns, longest unused first, until there is room; those in use are kept. */
  readonly use: (columns: readonly string[], sizeMax: number) => void
  /** Whether columns are kept. */
  readonly isRolled: () => boolean
  /** Characters of the texts that are kept; `forget` lets go of them until they are looked for. */
  readonly size: () => number
  readonly forget: () => void
}

type Block = {
  readonly from: Key
  rows: number
  texts: Texts
  readonly columns: Map<string, Column>
  /** With more rows it is divided, if it can be. */
  readonly most: number
}
/** All of a block, each between two separators; undefined until they are looked through. */
type Texts = { readonly [As in Spelling]?: string | undefined }

const usualRows = 1024
/** Stands between the texts of one row. */
export const between = "\u0002"

/** A ledger in the making: its blocks in the order of their keys. */
type Shelf = {
  readonly place: IndexPlace
  readonly read: Reader
  readonly lowest: Key
  blocks: Block[]
  /** Characters. */
  kept: number
  /** Columns that were used; the one longest ago is the first. */
  used: readonly string[]
}

export function ledgerOf(
  database: Database,
  place: IndexPlace,
  instance: string,
  blockRows = usualRows,
): Ledger {
  const read = readerOf(database, { place, instance, blockRows })
  const lowest = place.isText ? "" : Number.NEGATIVE_INFINITY
  const shelf: Shelf = {
    place,
    read,
    lowest,
    blocks: read.blocks({ from: lowest }),
    kept: 0,
    used: [],
  }
  return {
    rows: (range = { from: lowest }) => rowsOf(shelf, range),
    at: (rank) => {
      let skip = rank
      for (const { from, rows } of shelf.blocks) {
        if (skip < rows) return { from, skip }
        skip -= rows
      }
      return { from: lowest, skip: rank }
    },
    held: (wanted) => (place.isText ? heldIn(shelf, wanted) : undefined),
    note: (changes) => noteIn(shelf, changes),
    blocks: () => shelf.blocks,
    blockOf: (key) => blockOf(shelf, key),
    column: (at, name) => columnOf(shelf, at, name),
    texts: (at, name, rows) => textsAt(shelf, { at, name }, rows),
    use: (columns, sizeMax) => use(shelf, columns, sizeMax),
    isRolled: () => shelf.used.length > 0,
    size: () => shelf.kept,
    forget: () => {
      const before = shelf.kept
      for (const block of shelf.blocks) {
        block.texts = {}
        block.columns.clear()
      }
      shelf.kept = 0
      shelf.used = []
      clearAfter(before)
    },
  }
}

/** Where the block stands that a key belongs to. */
function blockOf({ blocks, lowest }: Shelf, key: Key): number {
  let [low, high] = [0, blocks.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (order(blocks[middle]?.from ?? lowest, key) <= 0) low = middle
    else high = middle - 1
  }
  return low
}

const endOf = ({ blocks }: Shelf, at: number): Key | undefined => blocks[at + 1]?.from

function rowsOf(shelf: Shelf, { from, below }: Range): number {
  if (below !== undefined && order(from, below) >= 0) return 0
  const last = below === undefined ? shelf.blocks.length - 1 : blockOf(shelf, below)
  let sum = 0
  for (let at = blockOf(shelf, from); at <= last; at++) {
    const end = at === last ? below : undefined
    sum += rowsIn(shelf, at, { from, below: end })
  }
  return sum
}

/** Rows of one block within a range. Nearly all rows of a long block have its first key. */
function rowsIn(shelf: Shelf, at: number, { from, below }: Range): number {
  const { read, blocks } = shelf
  const block = blocks[at]
  if (!block) return 0
  const end = endOf(shelf, at)
  if (order(from, block.from) > 0) return read.rows({ from, below: below ?? end })
  if (below === undefined) return block.rows
  return order(below, block.from) > 0 ? block.rows - read.rows({ from: below, below: end }) : 0
}

function heldIn(shelf: Shelf, wanted: Wanted): Held | undefined {
  const { as, how, value, few, within, isNot = false } = wanted
  if (value === "" || value.includes(separator) || value.includes(between)) return undefined
  const { blocks, lowest } = shelf
  const found: string[] = []
  const last = within?.below === undefined ? blocks.length - 1 : blockOf(shelf, within.below)
  let rows = 0
  for (let at = blockOf(shelf, within?.from ?? lowest); at <= last; at++) {
    const texts = textsOf(shelf, at, as)
    if (texts === undefined) return undefined
    const pattern = patterns[how](value)
    rows += isNot
      ? findOthers(texts, pattern, found, { few, rows: blocks[at]?.rows ?? 0 })
      : find(texts, pattern, found, few)
  }
  return { rows, texts: rows <= few ? found : undefined }
}

function textsOf(shelf: Shelf, at: number, as: Spelling): string | undefined {
  const block = shelf.blocks[at]
  if (!block || block.texts[as] !== undefined) return block?.texts[as]
  const texts = shelf.read.texts({ from: block.from, below: endOf(shelf, at) }, as)
  rewrite(shelf, block, { ...block.texts, ...texts })
  return block.texts[as]
}

function columnOf(shelf: Shelf, at: number, name: string): Column | undefined {
  const block = shelf.blocks[at]
  const known = block?.columns.get(name)
  if (!block || known) return known
  const raw = rawOf(shelf.place, name)
  const range = { from: block.from, below: endOf(shelf, at) }
  const read = shelf.read.column(range, { name: raw ?? name, rows: block.rows })
  const found = raw === undefined ? read : read && folded(read)
  if (!found) return undefined
  // What is spelled alike folded is kept once.
  const twin = [...block.columns.values()].find((other) => isSame(other, found))
  block.columns.set(name, twin ?? found)
  if (!shelf.used.includes(name)) shelf.used = [name, ...shelf.used]
  if (!twin) shelf.kept += found.size
  return twin ?? found
}

function textsAt(
  shelf: Shelf,
  { at, name }: { readonly at: number; readonly name: string },
  rows: readonly number[],
): readonly string[] | undefined {
  const block = shelf.blocks[at]
  if (block && !block.columns.has(name) && rows.length <= singlesMax) {
    return rows.map((row) => shelf.read.text(block.from, { name, row }))
  }
  const column = columnOf(shelf, at, name)
  return column && rows.map((row) => textAt(column, row))
}
/** To read a whole block costs as much as so many of its rows. */
const singlesMax = 4

/** The column that another one is the folded form of, if only that is in the index. */
function rawOf({ carried }: IndexPlace, name: string): string | undefined {
  const raw = name.replace(/_folded$/, "")
  return carried.includes(name) || raw === name ? undefined : raw
}

function use(shelf: Shelf, columns: readonly string[], sizeMax: number): void {
  const before = shelf.kept
  const others = shelf.used.filter((name) => !columns.includes(name))
  shelf.used = [...others, ...new Set(columns)]
  for (const name of others) {
    if (shelf.kept <= sizeMax) break
    shelf.used = shelf.used.filter((other) => other !== name)
    for (const block of shelf.blocks) drop(shelf, block, name)
  }
  clearAfter(before - shelf.kept)
}

/**
 * What was let go of is cleared away before as much is read anew: it would stand beside it. What
 * reading has left behind goes at once, not in the midst of the next search.
 */
export function clearAfter(size: number): void {
  if (size > clearedMin) Bun.gc(true)
}
const clearedMin = 4_000_000

function drop(shelf: Shelf, { columns }: Block, name: string): void {
  const found = columns.get(name)
  if (!found || !columns.delete(name)) return
  if (![...columns.values()].includes(found)) shelf.kept -= found.size
}

function rewrite(shelf: Shelf, block: Block, texts: Texts): void {
  shelf.kept += sizeOf(texts) - sizeOf(block.texts)
  block.texts = texts
}

function noteIn(shelf: Shelf, changes: readonly Change[]): void {
  for (const { key, raw, row, sign } of changes) {
    const block = shelf.blocks[blockOf(shelf, key)]
    if (!block) continue
    block.rows += sign
    for (const name of block.columns.keys()) drop(shelf, block, name)
    rewrite(shelf, block, {
      key: changed(block.texts.key, `${key}`, sign),
      raw: changed(block.texts.raw, raw ?? `${key}`, sign),
      row: changed(block.texts.row, row ?? `${key}`, sign),
    })
  }
  if (!shelf.blocks.some(({ rows, most }) => rows > most)) return
  shelf.blocks = shelf.blocks.flatMap((block, at) => {
    if (block.rows <= block.most) return [block]
    for (const name of block.columns.keys()) drop(shelf, block, name)
    rewrite(shelf, block, {})
    return shelf.read.blocks({ from: block.from, below: endOf(shelf, at) })
  })
}

type Reader = ReturnType<typeof readerOf>

/** Reads an index; a block ends where a key does, so that the rows of one key stand together. */
function readerOf(
  database: Database,
  { place, instance, blockRows }: { place: IndexPlace; instance: string; blockRows: number },
) {
  const { table, name, key, raw } = place
  const row = rowOf(place, "")
  const from = `FROM ${table} INDEXED BY ${name}
    WHERE instance = $instance AND ${inIndex(place, key)}`
  const prepare = <Row>(sql: string) =>
    // Reason for the cast: bun:sqlite types parameters per statement; ours are checked by use.
    database.prepare<Row, Record<string, Key>[]>(sql)
  const first = `SELECT ${key} AS key ${from}`
  const ahead = prepare<{ key: Key }>(
    `${first} >= $from ORDER BY ${key} LIMIT 1 OFFSET ${blockRows}`,
  )
  const after = prepare<{ key: Key }>(`${first} > $from ORDER BY ${key} LIMIT 1`)
  const ranged = <Row>(what: string) => {
    const onward = prepare<Row>(`SELECT ${what} ${from} >= $from`)
    const within = prepare<Row>(`SELECT ${what} ${from} >= $from AND ${key} < $below`)
    return ({ from: start, below }: Range): readonly Row[] =>
      below === undefined
        ? onward.all({ instance, from: start })
        : within.all({ instance, from: start, below })
  }
  const count = ranged<{ rows: number }>("count(*) AS rows")
  // SQLite puts the texts of a block together: a million texts one by one cost three times as much.
  const whole = (text: string, same: string) =>
    ranged<Whole>(
      `coalesce(group_concat(${text}, char(1)), '') AS texts, count(*) AS rows, ${same} AS same,
       coalesce(max(instr(${text}, char(1))), 0) AS broken`,
    )
  const isSame = `coalesce(min(${key} = ${raw ?? key}), 1)`
  const spelled = { key: whole(key, isSame), raw: whole(raw ?? key, isSame), row: whole(row, "0") }
  const rows = (range: Range) => count(range)[0]?.rows ?? 0
  const next = (start: Key): Key | undefined => {
    const found = ahead.get({ instance, from: start })?.key
    if (found === undefined || order(found, start) > 0) return found
    return after.get({ instance, from: start })?.key
  }
  return {
    rows,
    blocks: ({ from: start, below }: Range): Block[] => {
      const found: Block[] = []
      for (let at: Key | undefined = start; at !== undefined; ) {
        const ahead = next(at)
        const isLast = ahead === undefined || (below !== undefined && order(ahead, below) >= 0)
        const end = isLast ? below : ahead
        const count = rows({ from: at, below: end })
        const most = 2 * Math.max(count, blockRows)
        found.push({ from: at, rows: count, texts: {}, columns: new Map(), most })
        at = isLast ? undefined : ahead
      }
      return found
    },
    /** None where one has a separator in it; both where they are the same. */
    texts: (range: Range, as: Spelling): Texts => {
      const [{ texts: found, rows, same, broken } = empty] = spelled[as](range)
      const texts = rows > 0 ? separator + found + separator : separator
      if (broken) return {}
      return same ? { key: texts, raw: texts } : { [as]: texts }
    },
    ...columnsOf(instance, { from, prepare, ranged }),
  }
}

/** Reads columns of an index, of a block or of one row that comes so many after a key. */
function columnsOf(
  instance: string,
  {
    from,
    prepare,
    ranged,
  }: {
    readonly from: string
    readonly prepare: <Row>(sql: string) => StatementOf<Row>
    readonly ranged: <Row>(what: string) => (range: Range) => readonly Row[]
  },
) {
  const columns = new Map<string, (range: Range) => readonly { texts: string | null }[]>()
  const singles = new Map<string, StatementOf<{ text: string | number }>>()
  return {
    text: (start: Key, { name, row }: { name: string; row: number }): string => {
      const sql = `SELECT ${name} AS text ${from} >= $from LIMIT 1 OFFSET $row`
      const single = singles.get(name) ?? prepare<{ text: string | number }>(sql)
      singles.set(name, single)
      return `${single.get({ instance, from: start, row })?.text ?? ""}`
    },
    column: (range: Range, { name, rows }: { name: string; rows: number }) => {
      const listed = columns.get(name) ?? ranged<{ texts: string | null }>(listing(name))
      columns.set(name, listed)
      return columnIn(listed(range)[0]?.texts ?? "", rows)
    },
  }
}

type StatementOf<Row> = ReturnType<typeof Database.prototype.prepare<Row, Record<string, Key>[]>>

type Whole = {
  readonly texts: string
  readonly rows: number
  readonly same: number
  readonly broken: number
}
const empty: Whole = { texts: "", rows: 0, same: 1, broken: 0 }

/** The texts of a row as SQL, after `prefix`. */
export const rowOf = ({ key, beside }: IndexPlace, prefix: string): string =>
  [key, ...beside].map((column) => prefix + column).join(" || char(2) || ")

const sizeOf = ({ key = "", raw = "", row = "" }: Texts): number =>
  key.length + row.length + (raw === key ? 0 : raw.length)

export const patterns = {
  equals: (value: string) => separator + value + separator,
  starts_with: (value: string) => separator + value,
  contains: (value: string) => value,
  ends_with: (value: string) => value + separator,
} as const

/** Whether one text is like that. */
export function isLike(text: string, method: Wanted["how"], value: string): boolean {
  if (method === "equals") return text === value
  if (method === "starts_with") return text.startsWith(value)
  return method === "contains" ? text.includes(value) : text.endsWith(value)
}

/** Counts the texts that a pattern is in, and tells the first few. */
function find(texts: string, pattern: string, found: string[], few: number): number {
  let rows = 0
  const isStart = pattern.startsWith(separator)
  for (let at = texts.indexOf(pattern); at >= 0; ) {
    rows++
    if (found.length <= few) {
      const start = isStart ? at : texts.lastIndexOf(separator, at)
      found.push(texts.slice(start + 1, texts.indexOf(separator, start + 1)))
    }
    // The separator that a pattern ends with may be the one that the next begins with.
    const next = isStart ? at + pattern.length - 1 : texts.indexOf(separator, at)
    at = texts.indexOf(pattern, next)
  }
  return rows
}

/** The same of the texts that a pattern is not in. */
function findOthers(
  texts: string,
  pattern: string,
  found: string[],
  { few, rows }: { readonly few: number; readonly rows: number },
): number {
  const others = rows - find(texts, pattern, [], -1)
  if (others === 0 || found.length > few) return others
  const all = texts.slice(1, -1).split(separator)
  found.push(...all.filter((text) => !`${separator}${text}${separator}`.includes(pattern)))
  return others
}

/** The texts with one more or one less; undefined where they must be read again. */
function changed(texts: string | undefined, text: string, sign: number): string | undefined {
  if (texts === undefined || text.includes(separator)) return undefined
  if (sign > 0) return `${texts}${text}${separator}`
  const at = texts.indexOf(patterns.equals(text))
  return at < 0 ? undefined : texts.slice(0, at) + texts.slice(at + text.length + 1)
}

/** As SQLite compares: numbers, or texts by their bytes. */
export function order(one: Key, other: Key): number {
  if (typeof one === "number" && typeof other === "number") return one - other
  const [a, b] = [`${one}`, `${other}`]
  if (a === b) return 0
  if (beyond.test(a) || beyond.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return a < b ? -1 : 1
}
/** Where the order of UTF-16 is not that of bytes. */
const beyond = /[\ud800-\uffff]/
