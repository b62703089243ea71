import type { Database } from "bun:sqlite"
import { createHash } from "node:crypto"
import { decode, type EventRow, type Names, type SummedBlob, type SummedClaim } from "../log/row.ts"
import { eventOf, shown, wholeMs } from "../shared/wire.ts"

/** A row of the log as it travels: what it is made of, in one order. */
export type Row = readonly (string | number | null)[]

/** How many there are, and a sum over all of them that does not ask for their order. */
export type Sum = { count: number; sum: bigint }

export const emptySum = (): Sum => ({ count: 0, sum: 0n })

const range = 1n << 256n

/** Adds rows to a sum: of each its SHA-256, as a number. */
export function add(to: Sum, rows: readonly Row[]): void {
  for (const row of rows) {
    const digest = createHash("sha256").update(JSON.stringify(row)).digest("hex")
    to.sum = (to.sum + BigInt(`0x${digest}`)) % range
    to.count++
  }
}

export const isSame = (one: Sum, other: Sum): boolean =>
  one.count === other.count && one.sum === other.sum

/** Rows at a time: some hundred kilobytes. */
const pageMax = 500

type Source = { readonly database: Database; readonly names: Names }

/** The events of a file after a position, in order. */
export function* eventsOf({ database, names }: Source, after: number): Generator<readonly Row[]> {
  const next = database.prepare<EventRow, [number, number]>(
    "SELECT * FROM event WHERE position > ? ORDER BY position LIMIT ?",
  )
  for (let position = after; ; ) {
    const rows = next.all(position, pageMax)
    const last = rows.at(-1)
    if (!last) return
    yield rows.map((row) => [row.position, ...eventOf(decode(row, names))])
    position = last.position
  }
}

/** The claims of a file, but those that expire where these may be gone on the other side. */
export function* claimsOf(
  { database }: Pick<Source, "database">,
  isLasting = false,
): Generator<readonly Row[]> {
  const next = database.prepare<SummedClaim, [string, string, string, number]>(
    `SELECT * FROM claim WHERE (instance, kind, key) > (?, ?, ?)
       ${isLasting ? "AND expires IS NULL" : ""} ORDER BY instance, kind, key LIMIT ?`,
  )
  // The first claims are of no instance; none has an empty kind.
  for (let from: [string, string, string] = ["", "", ""]; ; ) {
    const rows = next.all(...from, pageMax)
    const last = rows.at(-1)
    if (!last) return
    yield rows.map(({ instance, kind, key, stream, id, expires }) => [
      shown(instance),
      kind,
      shown(key),
      stream,
      shown(id),
      expires === null ? null : wholeMs(expires),
    ])
    from = [last.instance, last.kind, last.key]
  }
}

/** The files of a file, one at a time. */
export function* blobsOf({ database }: Pick<Source, "database">): Generator<Row> {
  const next = database.prepare<SummedBlob & { rowid: number }, [number]>(
    "SELECT rowid, * FROM blob WHERE rowid > ? ORDER BY rowid LIMIT 1",
  )
  for (let row = next.get(0); row; row = next.get(row.rowid)) {
    const { instance, id, stream, name, bytes } = row
    const text = Buffer.from(bytes).toString("base64")
    yield [shown(instance), shown(id), stream, shown(name), text]
  }
}
