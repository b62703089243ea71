import type { Database } from "bun:sqlite"
import { Fault } from "../../kernel/fault.ts"
import type { LogEvent } from "./log.ts"

/** A row of the event table; `stream` and `type` are codes of the name table. */
export type EventRow = {
  readonly position: number
  readonly instance: string
  readonly stream: number
  readonly id: string
  readonly version: number
  readonly type: number
  readonly revision: number
  readonly data: string
  readonly private: string | null
  readonly time: number
  readonly editor_user: string
  readonly editor_client: string
  readonly owner: string
  readonly correlation: string
  readonly erase: string | null
  readonly sum: number
  readonly private_sum: number | null
}

/** The newest position that is written, on disk or not. */
export const headOf = (database: Database): number =>
  database.query<{ head: number }, []>("SELECT coalesce(max(position), 0) AS head FROM event").get()
    ?.head ?? 0

/** CRC-32 over everything but `private`. */
export function sumOf(row: Omit<EventRow, "sum" | "private_sum">): number {
  const { position, instance, stream, id, version, type, revision, data, time } = row
  return Bun.hash.crc32(
    `${position}\n${instance}\n${stream}\n${id}\n${version}\n${type}\n${revision}\n${time}\n` +
      `${row.editor_user}\n${row.editor_client}\n${row.owner}\n${row.correlation}\n` +
      `${row.erase ?? ""}\n${data}`,
  )
}

/** CRC-32 of `private`, bound to its place in the log; null once erased. */
export function privateSum(row: Pick<EventRow, "position" | "private">): number | null {
  return row.private === null ? null : Bun.hash.crc32(`${row.position}\n${row.private}`)
}

export const isEventWhole = (row: EventRow): boolean =>
  sumOf(row) === row.sum && privateSum(row) === row.private_sum

/** A row of the state table; those of kinds that nobody knows any more may have no sum. */
export type SummedState = {
  readonly instance: string
  readonly id: string
  readonly stream: string
  readonly version: number
  readonly position: number
  readonly created: number
  readonly changed: number
  readonly owner: string
  readonly state: string
  readonly expires: number | null
  readonly sum: number | null
}

/** CRC-32 over all of it. */
export function stateSum(row: Omit<SummedState, "sum">): number {
  const { instance, id, stream, version, position, created, changed, owner, state, expires } = row
  return Bun.hash.crc32(
    `${instance}\n${stream}\n${id}\n${version}\n${position}\n${created}\n${changed}\n` +
      `${owner}\n${expires ?? ""}\n${state}`,
  )
}

export const isStateWhole = (row: SummedState): boolean =>
  row.sum === null || row.sum === stateSum(row)

export const stateName = ({ stream, id }: SummedState) => `the state of ${stream} ${id}`

/** A row of the claim table. */
export type SummedClaim = {
  readonly instance: string
  readonly kind: string
  readonly key: string
  readonly stream: string
  readonly id: string
  readonly expires: number | null
  readonly sum: number | null
}

/** CRC-32 over all of it. */
export function claimSum({
  instance,
  kind,
  key,
  stream,
  id,
  expires,
}: Omit<SummedClaim, "sum">): number {
  return Bun.hash.crc32(`${instance}\n${kind}\n${stream}\n${id}\n${expires ?? ""}\n${key}`)
}

export const isClaimWhole = (row: SummedClaim): boolean => row.sum === claimSum(row)

/** Without its key, which may be what somebody signs in with. */
export const claimName = ({ kind, stream, id }: SummedClaim) =>
  `the claim ${kind} of ${stream} ${id}`

/** A row of the blob table. */
export type SummedBlob = {
  readonly instance: string
  readonly id: string
  readonly stream: string
  readonly name: string
  readonly sum: number
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** CRC-32 over the bytes, and whose they are. */
export function blobSum({ instance, stream, id, name, bytes }: Omit<SummedBlob, "sum">): number {
  return Bun.hash.crc32(`${instance}\n${stream}\n${id}\n${name}\n${Bun.hash.crc32(bytes)}`)
}

export const isBlobWhole = (row: SummedBlob): boolean => row.sum === blobSum(row)

export const blobName = ({ stream, id, name }: SummedBlob) => `the file ${name} of ${stream} ${id}`

/** What is not as it was written, by its name. */
export const damagedError = (what: string) =>
  new Fault(
    "data_loss",
    "store.damaged",
    `${what} is damaged on disk; restore the data folder from a backup`,
  )

/** Reads a row back, and refuses one whose sums no longer fit. */
export function decode(row: EventRow, names: Names): LogEvent {
  if (!isEventWhole(row)) {
    throw new Fault(
      "data_loss",
      "store.event_damaged",
      `event ${row.position} is damaged on disk; restore the data folder from a backup`,
    )
  }
  return {
    position: row.position,
    instance: row.instance,
    stream: names.name(row.stream),
    id: row.id,
    version: row.version,
    type: names.name(row.type),
    revision: row.revision,
    data: JSON.parse(row.data),
    private: row.private === null ? null : JSON.parse(row.private),
    time: row.time,
    editor: { user: row.editor_user, client: row.editor_client },
    owner: row.owner,
    correlation: row.correlation,
    erase: row.erase === null ? null : JSON.parse(row.erase),
  }
}

/** Names as small numbers. A code given within a transaction is kept only if that commits. */
export type Names = {
  readonly code: (name: string) => number
  readonly name: (code: number) => string
  /** Whether a code is known here; another process may have given it. */
  readonly has: (code: number) => boolean
  /** The code of a name that has one. */
  readonly known: (name: string) => number | undefined
  readonly keep: () => void
  /** How many are not kept yet; `forget` goes back to there. */
  readonly mark: () => number
  readonly forget: (mark: number) => void
  /** Reads those that another process has added. */
  readonly again: () => void
}

export function namesOf(database: Database): Names {
  const codes = new Map<string, number>()
  const names = new Map<number, string>()
  let fresh: string[] = []
  const insert = database.prepare<{ code: number }, [string]>(
    "INSERT INTO name (name) VALUES (?) RETURNING code",
  )
  const learn = (name: string, code: number) => {
    codes.set(name, code)
    names.set(code, name)
    return code
  }
  const all = database.query<{ code: number; name: string }, []>("SELECT code, name FROM name")
  const again = () => {
    for (const { name, code } of all.all()) learn(name, code)
  }
  again()
  return {
    again,
    has: (code) => names.has(code),
    code: (name) => {
      const known = codes.get(name)
      if (known !== undefined) return known
      fresh.push(name)
      return learn(name, insert.get(name)?.code ?? 0)
    },
    name: (code) => {
      const known = names.get(code)
      if (known === undefined) throw new Error(`the database has no name with code ${code}`)
      return known
    },
    known: (name) => codes.get(name),
    keep: () => {
      fresh = []
    },
    mark: () => fresh.length,
    forget: (mark) => {
      for (const name of fresh.splice(mark)) {
        names.delete(codes.get(name) ?? 0)
        codes.delete(name)
      }
    },
  }
}
