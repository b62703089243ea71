import type { Database } from "bun:sqlite"
import { createHash } from "node:crypto"
import {
  decodeEvent,
  type EventRow,
  type Names,
  type SummedBlob,
  type SummedClaim,
} from "../log/row.ts"
import { encodeEvent, escapeText, toWholeMs } from "../shared/wire.ts"

/** A row of the log for the transfer, with its columns in a fixed order. */
export type Row = readonly (string | number | null)[]

/** The number of rows, and an order-independent checksum. */
export type RowSum = { count: number; sum: bigint }

export const emptySum = (): RowSum => ({ count: 0, sum: 0n })

const hashRange = 1n << 256n

/** Adds rows to a sum: the SHA-256 of each as a number. */
export function addToSum(to: RowSum, rows: readonly Row[]): void {
  for (const row of rows) {
    const digest = createHash("sha256").update(JSON.stringify(row)).digest("hex")
    to.sum = (to.sum + BigInt(`0x${digest}`)) % hashRange
    to.count++
  }
}

export const isSameSum = (one: RowSum, other: RowSum): boolean =>
  one.count === other.count && one.sum === other.sum

/** Rows per page: a few hundred kilobytes. */
const maxPageRows = 500

type Source = { readonly database: Database; readonly names: Names }

/** The events of a file after a position, in order. */
export function* readEventPages(
  { database, names }: Source,
  after: number,
): Generator<readonly Row[]> {
  const next = database.prepare<EventRow, [number, number]>(
    "SELECT * FROM event WHERE position > ? ORDER BY position LIMIT ?",
  )
  for (let position = after; ; ) {
    const rows = next.all(position, maxPageRows)
    const last = rows.at(-1)
    if (!last) return
    yield rows.map((row) => [row.position, ...encodeEvent(decodeEvent(row, names))])
    position = last.position
  }
}

/** The claims of a file; `isLasting` excludes those that can expire. */
export function* readClaimPages(
  { database }: Pick<Source, "database">,
  onlyPermanent = false,
): Generator<readonly Row[]> {
  const next = database.prepare<SummedClaim, [string, string, string, number]>(
    `SELECT * FROM claim WHERE (instance, kind, key) > (?, ?, ?)
       ${onlyPermanent ? "AND expires IS NULL" : ""} ORDER BY instance, kind, key LIMIT ?`,
  )
  // Claims without an instance come first; no claim has an empty kind.
  for (let from: [string, string, string] = ["", "", ""]; ; ) {
    const rows = next.all(...from, maxPageRows)
    const last = rows.at(-1)
    if (!last) return
    yield rows.map(({ instance, kind, key, stream, id, expires }) => [
      escapeText(instance),
      kind,
      escapeText(key),
      stream,
      escapeText(id),
      expires === null ? null : toWholeMs(expires),
    ])
    from = [last.instance, last.kind, last.key]
  }
}

/** The blobs of a database, one at a time. */
export function* readBlobs({ database }: Pick<Source, "database">): Generator<Row> {
  const next = database.prepare<SummedBlob & { rowid: number }, [number]>(
    "SELECT rowid, * FROM blob WHERE rowid > ? ORDER BY rowid LIMIT 1",
  )
  for (let row = next.get(0); row; row = next.get(row.rowid)) {
    const { instance, id, stream, name, bytes } = row
    const text = Buffer.from(bytes).toString("base64")
    yield [escapeText(instance), escapeText(id), stream, escapeText(name), text]
  }
}
