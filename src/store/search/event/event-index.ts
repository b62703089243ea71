import type { Database } from "bun:sqlite"
import { codesOf, type EventWindow } from "../../log/event-window.ts"
import {
  type BlockFile,
  blockAt,
  blockRows,
  hashOf,
  type NumberColumn,
  openBlocks,
  type Written,
} from "./block-file.ts"

/**
 * What is asked of events, column by column, in blocks of many positions: rows of the log are wide,
 * and a look at a million of these numbers takes milliseconds. Of names that are many a hash is
 * kept, so what is found are candidates; the log says which of them it is.
 */
export type EventIndex = {
  /** Does a few milliseconds of what is to be done, and answers whether more is left. */
  readonly work: () => boolean
  /** Whether so much has been written since that a search would be slow. */
  readonly isBehind: () => boolean
  /** Whether there is anything that another thread would have to make again. */
  readonly hasBlocks: () => boolean
  /** It knows all that is written up to here. */
  readonly upTo: () => number
  /** The first candidates of a window that it knows, in its order. */
  readonly candidates: (window: EventWindow) => Candidates
  /** Positions that have no event any more. */
  readonly forget: (positions: readonly number[]) => void
  readonly close: () => void
}

export type Candidates = {
  readonly positions: readonly number[]
  /** The next look begins here: after this position, or before the one that follows it. */
  readonly reached: number
}

export type EventIndexParts = {
  readonly database: Database
  /** Where the file is made; it goes with this process. */
  readonly file: string
  /** Fewer events are looked through as they are. */
  readonly rowsMin: number
}

/** So many events are read at a time, in a few milliseconds. */
const eventsAtOnce = 4000
/** So few are looked through in the log itself. */
const behindMax = 10_000
/** So many candidates are looked up at a time, at least and at most. */
const [candidatesMin, candidatesMax] = [100, 1000]

const eventsAfter = `
  SELECT position, instance, stream, type, editor_user, owner, time FROM event NOT INDEXED
  WHERE position > ? ORDER BY position LIMIT ?`

/** Its file has no name: however this process ends, the next one makes it anew. */
export function eventIndexOf({ database, file, rowsMin }: EventIndexParts): EventIndex {
  const head = () => numberOf(database, "SELECT max(position) AS n FROM event")
  let blocks: BlockFile | undefined
  /** All that is written up to here is in the blocks. */
  let upTo = 0

  const close = () => {
    blocks?.close()
    blocks = undefined
    upTo = 0
  }
  const isLong = () =>
    numberOf(database, `SELECT count(*) AS n FROM (SELECT 1 FROM event LIMIT ${rowsMin})`) >=
    rowsMin
  return {
    work: () => {
      try {
        blocks ??= openBlocks(file)
        // Reason for the cast: `values` has no types of its own, and the columns stand above.
        const rows = database
          .query(eventsAfter)
          .values(upTo, eventsAtOnce) as unknown as readonly Written[]
        for (const row of rows) blocks.set(row)
        upTo = rows.at(-1)?.[0] ?? upTo
        return rows.length === eventsAtOnce
      } catch {
        // A full disk, most likely. The next search that finds it lacking begins anew.
        close()
        return false
      }
    },
    isBehind: () => head() - upTo > behindMax && (upTo > 0 || isLong()),
    hasBlocks: () => blocks !== undefined,
    upTo: () => upTo,
    candidates: (window) => {
      const tests = testsOf(database, window)
      const some = blocks && tests ? found(blocks, tests, window) : undefined
      return some ?? { positions: [], reached: window.asc ? window.upTo : window.after }
    },
    forget: (positions) => {
      for (const position of positions) blocks?.clear(position)
    },
    close,
  }
}

/** What a column has to hold: one number, one of some, or a time between two. */
type Test =
  | { readonly column: NumberColumn; readonly value: number }
  | { readonly column: NumberColumn; readonly codes: Uint8Array }
  | { readonly column: "time"; readonly since: number; readonly until: number }

/** What rows have to be, what few of them are first; undefined: none of them is. */
function testsOf(database: Database, window: EventWindow): readonly Test[] | undefined {
  const { types, streams, editor, owner, since, until } = window
  const tests: Test[] = []
  if (editor !== undefined) tests.push({ column: "editor", value: hashOf(editor) })
  for (const [column, names] of [
    ["type", types],
    ["stream", streams],
  ] as const) {
    if (!names) continue
    const known = codesOf(database, names)
    if (known.length === 0) return undefined
    const codes = new Uint8Array(Math.max(...known) + 1)
    for (const code of known) codes[code] = 1
    tests.push({ column, codes })
  }
  if (owner !== undefined) tests.push({ column: "owner", value: hashOf(owner) })
  if (since !== undefined || until !== undefined) {
    const [first, last] = [since ?? Number.NEGATIVE_INFINITY, until ?? Number.POSITIVE_INFINITY]
    tests.push({ column: "time", since: first, until: last })
  }
  return [...tests, { column: "instance", value: hashOf(window.instance) }]
}

/** The first candidates of a part that the index knows; undefined: there are none. */
function found(
  blocks: BlockFile,
  tests: readonly Test[],
  { after, upTo, asc, limit }: EventWindow,
): Candidates | undefined {
  const [first, last] = [blockAt(after + 1), blockAt(upTo)]
  const most = Math.min(candidatesMax, Math.max(candidatesMin, limit))
  for (let step = 0; step <= last - first; step++) {
    const block = asc ? first + step : last - step
    const start = block * blockRows
    const range = {
      from: Math.max(0, after + 1 - start),
      to: Math.min(blockRows - 1, upTo - start),
    }
    const rows = rowsIn(blocks, { block, ...range }, tests)
    if (rows.length === 0) continue
    const some = asc ? rows.subarray(0, most) : rows.subarray(-most).reverse()
    const positions = Array.from(some, (row) => start + row)
    const at = positions.at(-1) ?? 0
    // Of this block there may be more; what was looked at ends with the last one.
    return { positions, reached: asc ? at : at - 1 }
  }
  return undefined
}

/** Which rows of a part of a block are as they have to be, in their order. */
function rowsIn(
  blocks: BlockFile,
  { block, from, to }: { readonly block: number; readonly from: number; readonly to: number },
  tests: readonly Test[],
): Uint32Array {
  const rows = new Uint32Array(Math.max(0, to - from + 1))
  for (let at = 0; at < rows.length; at++) rows[at] = from + at
  return tests.reduce(
    (left, test) => (left.length === 0 ? left : left.subarray(0, sift(blocks, block, left, test))),
    rows,
  )
}

/** Moves the rows that pass to the front, and answers how many do. A loop for each kind of test. */
function sift(blocks: BlockFile, block: number, rows: Uint32Array, test: Test): number {
  const values = blocks.column(block, test.column)
  let kept = 0
  if ("value" in test) {
    const { value } = test
    for (const row of rows) if (values[row] === value) rows[kept++] = row
  } else if ("codes" in test) {
    const { codes } = test
    for (const row of rows) if (codes[values[row] ?? 0] === 1) rows[kept++] = row
  } else {
    const { since, until } = test
    for (const row of rows) {
      const time = values[row] ?? 0
      if (time >= since && time <= until) rows[kept++] = row
    }
  }
  return kept
}

const numberOf = (database: Database, sql: string): number =>
  database.query<{ n: number | null }, []>(sql).get()?.n ?? 0
