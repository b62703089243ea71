import type { Bookmark } from "./bookmark.ts"
import { type Column, textAt } from "./column.ts"
import { order } from "./ledger.ts"
import type { Roll, RollWindow } from "./roll.ts"

/** More rows are sooner found by walking over an index that has them in order. */
const rowsMax = 250_000
/** So many rows stand before a page, or after it, at most. */
const depthMax = 5000

type Wanted = {
  readonly by: readonly string[]
  readonly asc: boolean
  readonly depth: number
  readonly after?: Bookmark | undefined
}

/**
 * The keys of a page in another order than that of the roll: by columns that the index carries, the
 * last of them the key. Undefined where memory can't tell, or an index is quicker.
 */
export function keysBy(
  roll: Roll,
  { by, asc, limit, offset, after }: RollWindow & { readonly by: readonly string[] },
): readonly string[] | undefined {
  const { total } = roll
  const rows = Math.min(limit, after ? limit : total - offset)
  if (total > rowsMax || rows <= 0) return rows <= 0 ? [] : undefined
  const behind = total - offset - rows
  const isNear = after !== undefined || offset <= behind
  const skipped = after ? 0 : Math.min(offset, behind)
  const depth = skipped + rows
  if (depth > depthMax) return undefined
  const found = firstOf(roll, { by, asc: isNear === asc, depth, after })?.slice(skipped)
  return isNear ? found : found?.reverse()
}

/** So many rows in order as stand before the page and on it. No text is copied on the way. */
function firstOf(roll: Roll, { by, asc, depth, after }: Wanted): string[] | undefined {
  const { ledger, marked, counts } = roll
  const last = after && by.map((name): Column => ({ same: `${after[name]}`, size: 0 }))
  let isTold = true
  const columnOf = (at: number, nth: number): Column => {
    const column = at < 0 ? last?.[nth] : ledger.column(at, by[nth] ?? "")
    if (!column) isTold = false
    return column ?? none
  }
  const compare = (one: number, other: number): number => {
    const at = blockIn(one)
    const otherAt = blockIn(other)
    for (let nth = 0; nth < by.length; nth++) {
      const column = columnOf(at, nth)
      const found = orderOf(column, rowIn(one), columnOf(otherAt, nth), rowIn(other))
      if (found !== 0) return asc ? found : -found
    }
    return 0
  }
  let kept: number[] = []
  let bound: number | undefined
  const trim = () => {
    kept = kept.sort(compare).slice(0, depth)
    if (kept.length === depth) bound = kept.at(-1)
  }
  /** Most rows are told to be too far by their first column alone. */
  const isBeyond = (one: number, first: Column, boundary: Column | undefined) => {
    if (bound === undefined || !boundary) return false
    const found = orderOf(first, rowIn(one), boundary, rowIn(bound))
    return found === 0 ? compare(one, bound) > 0 : found > 0 === asc
  }
  for (const at of scattered(marked.length)) {
    const marks = marked[at] ?? false
    if (!counts[at]) continue
    const rows = ledger.blocks()[at]?.rows ?? 0
    const first = columnOf(at, 0)
    let boundary = bound === undefined ? undefined : columnOf(blockIn(bound), 0)
    for (let row = 0; row < rows; row++) {
      if (marks !== true && marks && marks[row] !== 1) continue
      const one = placeOf(at, row)
      if (isBeyond(one, first, boundary)) continue
      if (last && compare(one, placeOf(-1, 0)) <= 0) continue
      kept.push(one)
      if (kept.length <= 2 * depth + spare) continue
      trim()
      boundary = bound === undefined ? undefined : columnOf(blockIn(bound), 0)
    }
  }
  trim()
  const keys = kept.map((one) => textAt(columnOf(blockIn(one), by.length - 1), rowIn(one)))
  return isTold ? keys : undefined
}
/** Rows that are kept beyond those needed, so that they are not sorted too often. */
const spare = 2000
const none: Column = { same: "", size: 0 }

/** A row as one number; the row that a page goes on after is in a block before all others. */
const placeOf = (at: number, row: number) => at * rowsEnd + row
const blockIn = (place: number) => Math.floor(place / rowsEnd)
const rowIn = (place: number) => place - blockIn(place) * rowsEnd
const rowsEnd = 2 ** 32

/** As `order` has it. Millions of these leave nothing behind that had to be cleared away. */
function orderOf(one: Column, row: number, other: Column, otherRow: number): number {
  const texts = "same" in one ? one.same : one.texts
  const others = "same" in other ? other.same : other.texts
  const start = startIn(one, row)
  const otherStart = startIn(other, otherRow)
  const length = endIn(one, row) - start
  const otherLength = endIn(other, otherRow) - otherStart
  const common = Math.min(length, otherLength)
  for (let at = 0; at < common; at++) {
    const code = texts.charCodeAt(start + at)
    const otherCode = others.charCodeAt(otherStart + at)
    if (code === otherCode) continue
    if (code < 0xd800 && otherCode < 0xd800) return code - otherCode
    return order(textAt(one, row), textAt(other, otherRow))
  }
  return length - otherLength
}

const startIn = (column: Column, row: number): number =>
  "same" in column ? 0 : (column.starts[row] ?? 0)
const endIn = (column: Column, row: number): number =>
  "same" in column ? column.same.length : (column.starts[row + 1] ?? 0) - 1

/** All numbers below one, far from each other: rows often stand in the order asked for, or its
 * reverse, and then each would be kept for a while. */
function scattered(count: number): readonly number[] {
  const stride = count % step === 0 ? 1 : step
  return Array.from({ length: count }, (_, at) => (at * stride) % count)
}
/** A prime, so that all numbers are met unless it divides their count. */
const step = 7919
