import type { Database } from "bun:sqlite"
import { Fault } from "../../kernel/fault.ts"
import type { LogEvent } from "./log.ts"

/** A row of the event table; `stream` and `type` are codes from the name table. */
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

/** The newest written position, synced or not. */
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

/** CRC-32 of `private`, bound to its position; null once erased. */
export function privateSum(row: Pick<EventRow, "position" | "private">): number | null {
  return row.private === null ? null : Bun.hash.crc32(`${row.position}\n${row.private}`)
}

export const isEventWhole = (row: EventRow): boolean =>
  sumOf(row) === row.sum && privateSum(row) === row.private_sum

/** A row of the state table; those of unknown aggregates may have no checksum. */
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

/** CRC-32 over all columns. */
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

/** CRC-32 over all columns. */
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

/** Without its key, which can be a login name. */
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

/** CRC-32 over the bytes and their key. */
export function blobSum({ instance, stream, id, name, bytes }: Omit<SummedBlob, "sum">): number {
  return Bun.hash.crc32(`${instance}\n${stream}\n${id}\n${name}\n${Bun.hash.crc32(bytes)}`)
}

export const isBlobWhole = (row: SummedBlob): boolean => row.sum === blobSum(row)

export const blobName = ({ stream, id, name }: SummedBlob) => `the file ${name} of ${stream} ${id}`

/** The fault for damaged data, with its name. */
export const damagedError = (subject: string) =>
  new Fault(
    "data_loss",
    "store.damaged",
    `${subject} is damaged on disk; restore the data directory from a backup`,
  )

/** Decodes a row; throws if its checksums don't match. */
export function decodeEvent(row: EventRow, names: Names): LogEvent {
  if (!isEventWhole(row)) {
    throw new Fault(
      "data_loss",
      "store.event_damaged",
      `event ${row.position} is damaged on disk; restore the data directory from a backup`,
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

/** Codes names as small numbers. A code assigned in a transaction is only kept if it commits. */
export type Names = {
  readonly code: (name: string) => number
  readonly name: (code: number) => string
  /** Whether a code is known to this process; another process may have assigned it. */
  readonly has: (code: number) => boolean
  /** The code of a name, if it has one. */
  readonly findCode: (name: string) => number | undefined
  readonly keep: () => void
  /** The number of codes that are not kept yet; `forget` returns to it. */
  readonly mark: () => number
  readonly forget: (mark: number) => void
  /** Reads codes that other processes have added. */
  readonly reload: () => void
}

export function createNames(database: Database): Names {
  const codes = new Map<string, number>()
  const names = new Map<number, string>()
  let pending: string[] = []
  const insert = database.prepare<{ code: number }, [string]>(
    "INSERT INTO name (name) VALUES (?) RETURNING code",
  )
  const remember = (name: string, code: number) => {
    codes.set(name, code)
    names.set(code, name)
    return code
  }
  const all = database.query<{ code: number; name: string }, []>("SELECT code, name FROM name")
  const reload = () => {
    for (const { name, code } of all.all()) remember(name, code)
  }
  reload()
  return {
    reload,
    has: (code) => names.has(code),
    code: (name) => {
      const known = codes.get(name)
      if (known !== undefined) return known
      pending.push(name)
      return remember(name, insert.get(name)?.code ?? 0)
    },
    name: (code) => {
      const known = names.get(code)
      if (known === undefined) throw new Error(`the database has no name with code ${code}`)
      return known
    },
    findCode: (name) => codes.get(name),
    keep: () => {
      pending = []
    },
    mark: () => pending.length,
    forget: (mark) => {
      for (const name of pending.splice(mark)) {
        names.delete(codes.get(name) ?? 0)
        codes.delete(name)
      }
    },
  }
}
