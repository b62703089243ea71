import type { Bookmark } from "./bookmark.ts"
import { type Column, separator, textAt } from "./column.ts"
import type { Filter } from "./condition.ts"
import {
  clearAfter,
  type IndexPlace,
  isLike,
  type Key,
  type Ledger,
  order,
  patterns,
} from "./ledger.ts"
import type { Value } from "./statement.ts"

/** Rows of a block that fulfil a filter: all, none, or those that have a 1. */
type Marks = boolean | Uint8Array

/** The rows of a list in its own order, and which of them fulfil all filters. */
export type Roll = {
  readonly ledger: Ledger
  readonly place: IndexPlace
  readonly key: string
  readonly total: number
  /** Block by block. */
  readonly marked: readonly Marks[]
  readonly counts: readonly number[]
}

export type RollWindow = {
  readonly limit: number
  readonly offset: number
  readonly asc: boolean
  readonly after?: Bookmark | undefined
}

/** A block that is looked at, and what of it is asked for. */
type Look = { readonly ledger: Ledger; readonly place: IndexPlace; readonly at: number }

/** Characters of columns that stay in memory for the next search. */
const keptMax = 40_000_000

/** Whether an index has all that a filter asks for. */
export function isCarried(place: IndexPlace, filter: Filter): boolean {
  if ("all" in filter) return filter.all.every((each) => isCarried(place, each))
  if ("any" in filter) return filter.any.every((each) => isCarried(place, each))
  if ("not" in filter) return isCarried(place, filter.not)
  if ("text" in filter) return hasText(place, filter.text) && filter.value.isWellFormed()
  if ("compare" in filter) return isNumber(place, filter.compare)
  const [name, values] = askedOf(filter)
  if (isNumber(place, name)) return values.every((value) => typeof value === "number")
  return hasText(place, name) && values.every((value) => typeof value === "string")
}

const isNumber = (place: IndexPlace, name: string) =>
  place.carried.length > 0 && !place.isText && name === place.key

type Asked = Extract<Filter, { equals: string } | { oneOf: string }>

const askedOf = (filter: Asked): readonly [string, readonly Value[]] =>
  "equals" in filter ? [filter.equals, [filter.value]] : [filter.oneOf, filter.values]

function columnsOf(filter: Filter): readonly string[] {
  if ("all" in filter) return filter.all.flatMap(columnsOf)
  if ("any" in filter) return filter.any.flatMap(columnsOf)
  if ("not" in filter) return columnsOf(filter.not)
  if ("text" in filter) return [filter.text]
  return "compare" in filter ? [filter.compare] : [askedOf(filter)[0]]
}

/** Whether an index has a text, or what it is the folded form of. */
export const hasText = ({ carried }: IndexPlace, name: string): boolean =>
  carried.includes(name) || carried.includes(name.replace(/_folded$/, ""))

/**
 * Undefined where memory can't tell. The index must carry all that the filters ask for, and the
 * columns that are `needed` beside. The roll is good until the next one is made.
 */
export function rollOf(
  ledger: Ledger,
  place: IndexPlace,
  {
    key,
    filters,
    needed = [],
  }: {
    readonly key: string
    readonly filters: readonly Filter[]
    readonly needed?: readonly string[]
  },
): Roll | undefined {
  taken = 0
  ledger.use([key, ...needed, ...filters.flatMap(columnsOf)], keptMax)
  const before = ledger.size()
  const marked: Marks[] = []
  const counts: number[] = []
  for (const [at, { rows }] of ledger.blocks().entries()) {
    const marks = mark({ ledger, place, at }, { all: filters })
    if (marks === undefined) return undefined
    marked.push(marks)
    counts.push(countOf(marks, rows))
  }
  clearAfter(ledger.size() - before)
  const total = counts.reduce((sum, each) => sum + each, 0)
  return { ledger, place, key, total, marked, counts }
}

/** The keys of a page in the order of the roll; undefined where memory can't tell. */
export function keysIn(
  roll: Roll,
  { after, limit, offset, asc }: RollWindow,
): readonly string[] | undefined {
  const { ledger, key, marked, counts } = roll
  const start = after && startOf(roll, after, asc)
  const found: string[] = []
  const step = asc ? 1 : -1
  const last = asc ? marked.length : -1
  let skip = offset
  for (let at = start?.at ?? (asc ? 0 : marked.length - 1); at !== last; at += step) {
    const count = counts[at] ?? 0
    const from = at === start?.at ? start.row : undefined
    if (found.length === limit) break
    if (count === 0 || (from === undefined && count <= skip)) {
      skip -= count
      continue
    }
    const rows = rowsOf(marked[at] ?? false, ledger.blocks()[at]?.rows ?? 0, { from, asc })
    const some = rows.slice(skip, skip + limit - found.length)
    skip = Math.max(0, skip - rows.length)
    if (some.length === 0) continue
    const ids = ledger.texts(at, key, some)
    if (!ids) return undefined
    found.push(...ids)
  }
  return found
}

/** Where a page begins that goes on after a row: the first to be read, or the one before it. */
function startOf(
  { ledger, place, key }: Roll,
  after: Bookmark,
  asc: boolean,
): { readonly at: number; readonly row: number } {
  const as = (text: string): Key => (place.isText ? text : Number(text))
  const last = as(`${after[place.key]}`)
  const at = ledger.blockOf(last)
  const [sorts, ids] = [ledger.column(at, place.key), ledger.column(at, key)]
  const rows = ledger.blocks()[at]?.rows ?? 0
  const isPast = (row: number) => {
    if (!sorts || !ids) return true
    const found = order(as(textAt(sorts, row)), last) || order(textAt(ids, row), `${after[key]}`)
    return asc ? found > 0 : found >= 0
  }
  let row = 0
  while (row < rows && !isPast(row)) row++
  return { at, row }
}

/** The numbers of those rows that are marked, from one on, or back from the one before it. */
function rowsOf(
  marks: Marks,
  rows: number,
  { from, asc }: { readonly from: number | undefined; readonly asc: boolean },
): readonly number[] {
  const found: number[] = []
  const [start, end] = asc ? [from ?? 0, rows] : [0, from ?? rows]
  for (let row = start; row < end; row++) {
    if (marks === true || (marks !== false && marks[row] === 1)) found.push(row)
  }
  return asc ? found : found.reverse()
}

function countOf(marks: Marks, rows: number): number {
  if (typeof marks === "boolean") return marks ? rows : 0
  let sum = 0
  for (let row = 0; row < marks.length; row++) sum += marks[row] ?? 0
  return sum
}

function mark(look: Look, filter: Filter): Marks | undefined {
  if ("all" in filter) return markEach(look, filter.all, false)
  if ("any" in filter) return markEach(look, filter.any, true)
  if ("not" in filter) return others(mark(look, filter.not))
  if ("compare" in filter) return markRange(look, filter)
  const { ledger, at } = look
  if ("text" in filter) {
    const column = ledger.column(at, filter.text)
    return column && markText(column, filter.method, filter.value)
  }
  const [name, values] = askedOf(filter)
  const column = ledger.column(at, name)
  const texts = values.map((value) => `${value}`)
  if (!column || "same" in column) return column && texts.includes(column.same)
  if (texts.length < listMax) {
    return combined(
      texts.map((text) => markText(column, "equals", text)),
      true,
    )
  }
  const wanted = new Set(texts)
  return markBy(column, (text) => wanted.has(text))
}
/** So many texts are looked for one by one faster than all are compared. */
const listMax = 4

/** Looks no further where a block is decided. */
function markEach(look: Look, filters: readonly Filter[], isAny: boolean): Marks | undefined {
  const found: Marks[] = []
  for (const filter of filters) {
    const marks = mark(look, filter)
    if (marks === undefined || marks === isAny) return marks
    found.push(marks)
  }
  return combined(found, isAny)
}

/** Marks of any, or of all; each is only used here, so the first one may be written to. */
function combined(all: readonly Marks[], isAny: boolean): Marks {
  if (all.includes(isAny)) return isAny
  const [first, ...rest] = all.filter((marks) => typeof marks !== "boolean")
  if (!first) return !isAny
  for (const marks of rest) {
    for (let row = 0; row < first.length; row++) {
      const one = first[row] ?? 0
      first[row] = isAny ? one | (marks[row] ?? 0) : one & (marks[row] ?? 0)
    }
  }
  return first
}

function others(marks: Marks | undefined): Marks | undefined {
  if (marks === undefined || typeof marks === "boolean") return marks === undefined ? marks : !marks
  for (let row = 0; row < marks.length; row++) marks[row] = 1 - (marks[row] ?? 0)
  return marks
}

type Text = Extract<Filter, { text: string }>

function markText(column: Column, method: Text["method"], value: string): Marks {
  if ("same" in column) return isLike(column.same, method, value)
  if (method !== "equals" && value === "") return true
  if (value.includes(separator)) return false
  const { texts, starts } = column
  const rows = starts.length - 1
  const pattern = patterns[method](value)
  // What begins with a separator is found before the row that it belongs to.
  const shift = pattern.startsWith(separator) ? 1 : 0
  let at = texts.indexOf(pattern)
  if (at < 0) return false
  const marks = blank(rows)
  let count = 0
  for (let row = 0; at >= 0; ) {
    while (row + 1 < rows && (starts[row + 1] ?? 0) <= at + shift) row++
    marks[row] = 1
    count++
    if (++row >= rows) break
    at = texts.indexOf(pattern, (starts[row] ?? 0) - 1)
  }
  return count === rows || marks
}

/** Blocks on one side of an edge are told by their ends. */
function markRange(
  { ledger, at }: Look,
  { compare, by, value }: Extract<Filter, { compare: string }>,
): Marks | undefined {
  const fits = fitting[by](value)
  const [low, high] = [ledger.blocks()[at]?.from, ledger.blocks()[at + 1]?.from]
  const isLow = fits(Number(low))
  if (isLow === fits(Number(high ?? Number.POSITIVE_INFINITY))) return isLow
  const column = ledger.column(at, compare)
  return column && markBy(column, (text) => fits(Number(text)))
}

const fitting = {
  "<": (value: number) => (key: number) => key < value,
  "<=": (value: number) => (key: number) => key <= value,
  ">": (value: number) => (key: number) => key > value,
  ">=": (value: number) => (key: number) => key >= value,
} as const

function markBy(column: Column, fits: (text: string) => boolean): Marks {
  if ("same" in column) return fits(column.same)
  const marks = blank(column.starts.length - 1)
  for (let row = 0; row < marks.length; row++) marks[row] = fits(textAt(column, row)) ? 1 : 0
  return marks
}

let room = new Uint8Array(0)
let taken = 0

/** Marks live no longer than one search, so the next one has the same room for its own. */
function blank(rows: number): Uint8Array {
  if (taken + rows > room.length) {
    room = new Uint8Array(Math.max(roomMin, rows, 2 * room.length))
    taken = 0
  }
  taken += rows
  return room.subarray(taken - rows, taken).fill(0)
}
const roomMin = 65_536
