import type { Database } from "bun:sqlite"
import { type EventWindow, findCodes } from "../../log/event-window.ts"
import {
  type BlockFile,
  blockAt,
  blockRows,
  type EventColumns,
  hashOf,
  type NumberColumn,
  openBlockFile,
} from "./block-file.ts"

/**
 * A column index of events in blocks of positions: log rows are wide, but scanning a million of
 * these numbers takes milliseconds. Long names are stored as hashes, so results are candidates,
 * which the log confirms.
 */
export type EventIndex = {
  /** Does a few milliseconds of work; returns whether more is left. */
  readonly work: () => boolean
  /** Whether so many events are missing that a search would be slow. */
  readonly isBehind: () => boolean
  /** Whether there are blocks, which another thread would have to build again. */
  readonly hasBlocks: () => boolean
  /** The index is complete up to this position. */
  readonly upTo: () => number
  /** The first candidates of a window, in its order. */
  readonly candidates: (window: EventWindow) => Candidates
  /** Removes positions whose events are deleted. */
  readonly forget: (positions: readonly number[]) => void
  readonly close: () => void
}

export type Candidates = {
  readonly positions: readonly number[]
  /** Continue here: after this position, or before the next one. */
  readonly scannedTo: number
}

export type EventIndexParts = {
  readonly database: Database
  /** The path of the file, which is deleted with this process. */
  readonly file: string
  /** Smaller logs are scanned without an index. */
  readonly rowsMin: number
}

/** Events per read, which takes a few milliseconds. */
const eventsPerRead = 4000
/** Fewer missing events are scanned in the log itself. */
const maxMissing = 10_000
/** Minimum and maximum number of candidates per lookup. */
const [candidatesMin, candidatesMax] = [100, 1000]

const eventsAfter = `
  SELECT position, instance, stream, type, editor_user, owner, time FROM event NOT INDEXED
  WHERE position > ? ORDER BY position LIMIT ?`

/** The file has no name: it disappears with the process, and the next one builds it again. */
export function createEventIndex({ database, file, rowsMin }: EventIndexParts): EventIndex {
  const head = () => queryNumber(database, "SELECT max(position) AS n FROM event")
  let blocks: BlockFile | undefined
  /** Everything up to this position is in the blocks. */
  let upTo = 0

  const close = () => {
    blocks?.close()
    blocks = undefined
    upTo = 0
  }
  const isLong = () =>
    queryNumber(database, `SELECT count(*) AS n FROM (SELECT 1 FROM event LIMIT ${rowsMin})`) >=
    rowsMin
  return {
    work: () => {
      try {
        blocks ??= openBlockFile(file)
        // Reason for the cast: `values` is untyped, and the columns are listed above.
        const rows = database
          .query(eventsAfter)
          .values(upTo, eventsPerRead) as unknown as readonly EventColumns[]
        for (const row of rows) blocks.set(row)
        upTo = rows.at(-1)?.[0] ?? upTo
        return rows.length === eventsPerRead
      } catch {
        // Usually a full disk. The next search without an index builds it again.
        close()
        return false
      }
    },
    isBehind: () => head() - upTo > maxMissing && (upTo > 0 || isLong()),
    hasBlocks: () => blocks !== undefined,
    upTo: () => upTo,
    candidates: (window) => {
      const tests = createTests(database, window)
      const selectedCodes = blocks && tests ? findCandidates(blocks, tests, window) : undefined
      return selectedCodes ?? { positions: [], scannedTo: window.asc ? window.upTo : window.after }
    },
    forget: (positions) => {
      for (const position of positions) blocks?.clear(position)
    },
    close,
  }
}

/** A test of a column: equal to a number, one of several, or a time in a range. */
type ColumnTest =
  | { readonly column: NumberColumn; readonly value: number }
  | { readonly column: NumberColumn; readonly codes: Uint8Array }
  | { readonly column: "time"; readonly since: number; readonly until: number }

/** Tests for a window, the most selective first; undefined if no event can match. */
function createTests(database: Database, window: EventWindow): readonly ColumnTest[] | undefined {
  const { types, streams, editor, owner, since, until } = window
  const tests: ColumnTest[] = []
  if (editor !== undefined) tests.push({ column: "editor", value: hashOf(editor) })
  for (const [column, names] of [
    ["type", types],
    ["stream", streams],
  ] as const) {
    if (!names) continue
    const indexedUpTo = findCodes(database, names)
    if (indexedUpTo.length === 0) return undefined
    const codes = new Uint8Array(Math.max(...indexedUpTo) + 1)
    for (const code of indexedUpTo) codes[code] = 1
    tests.push({ column, codes })
  }
  if (owner !== undefined) tests.push({ column: "owner", value: hashOf(owner) })
  if (since !== undefined || until !== undefined) {
    const [first, last] = [since ?? Number.NEGATIVE_INFINITY, until ?? Number.POSITIVE_INFINITY]
    tests.push({ column: "time", since: first, until: last })
  }
  return [...tests, { column: "instance", value: hashOf(window.instance) }]
}

/** The first candidates in the indexed part; undefined if there are none. */
function findCandidates(
  blocks: BlockFile,
  tests: readonly ColumnTest[],
  { after, upTo, asc, limit }: EventWindow,
): Candidates | undefined {
  const [first, last] = [blockAt(after + 1), blockAt(upTo)]
  const maxRows = Math.min(candidatesMax, Math.max(candidatesMin, limit))
  for (let step = 0; step <= last - first; step++) {
    const block = asc ? first + step : last - step
    const start = block * blockRows
    const range = {
      from: Math.max(0, after + 1 - start),
      to: Math.min(blockRows - 1, upTo - start),
    }
    const rows = filterRows(blocks, { block, ...range }, tests)
    if (rows.length === 0) continue
    const selectedCodes = asc ? rows.subarray(0, maxRows) : rows.subarray(-maxRows).reverse()
    const positions = Array.from(selectedCodes, (row) => start + row)
    const at = positions.at(-1) ?? 0
    // The block may contain more; the scan ends with the last one returned.
    return { positions, scannedTo: asc ? at : at - 1 }
  }
  return undefined
}

/** The rows of a block section that pass all tests, in order. */
function filterRows(
  blocks: BlockFile,
  { block, from, to }: { readonly block: number; readonly from: number; readonly to: number },
  tests: readonly ColumnTest[],
): Uint32Array {
  const rows = new Uint32Array(Math.max(0, to - from + 1))
  for (let at = 0; at < rows.length; at++) rows[at] = from + at
  return tests.reduce(
    (left, test) =>
      left.length === 0 ? left : left.subarray(0, applyTest(blocks, block, left, test)),
    rows,
  )
}

/**
 * Moves the passing rows to the front, and returns their number. Has a separate loop for each kind
 * of test.
 */
function applyTest(blocks: BlockFile, block: number, rows: Uint32Array, test: ColumnTest): number {
  const values = blocks.column(block, test.column)
  let passed = 0
  if ("value" in test) {
    const { value } = test
    for (const row of rows) if (values[row] === value) rows[passed++] = row
  } else if ("codes" in test) {
    const { codes } = test
    for (const row of rows) if (codes[values[row] ?? 0] === 1) rows[passed++] = row
  } else {
    const { since, until } = test
    for (const row of rows) {
      const time = values[row] ?? 0
      if (time >= since && time <= until) rows[passed++] = row
    }
  }
  return passed
}

const queryNumber = (database: Database, sql: string): number =>
  database.query<{ n: number | null }, []>(sql).get()?.n ?? 0
