import type { Database } from "bun:sqlite"
import type { Fault } from "../../kernel/fault.ts"
import { numberAt } from "../retention/horizon.ts"
import type { Gate } from "./checkpoint.ts"
import type { Durability } from "./durability.ts"
import { type EventTypes, writtenOf } from "./event-types.ts"
import { groupCommit } from "./group-commit.ts"
import type {
  Append,
  Appended,
  Apply,
  BlobRequest,
  ClaimRequest,
  Folded,
  Log,
  LogEvent,
  NewEvent,
} from "./log.ts"
import {
  blobName,
  blobSum,
  claimName,
  claimSum,
  damagedError,
  decode,
  type EventRow,
  isBlobWhole,
  isClaimWhole,
  type Names,
  privateSum,
  type SummedBlob,
  type SummedClaim,
  sumOf,
} from "./row.ts"

type Parts = {
  readonly database: Database
  readonly names: Names
  readonly eventTypes: EventTypes
  readonly gate: Gate
  readonly durability: Durability
  readonly apply: Apply
  readonly head: number
  /** Learns of the events of each step, once they are on disk. */
  readonly appended?: ((events: readonly NewEvent[]) => void) | undefined
  /** What callers are told of a disk that does not do what is asked; undefined for bugs. */
  readonly faultOf: (cause: unknown) => Fault | undefined
}

/** The log, and what those need who write to its database beside it. */
export type SqliteLog = Log & {
  /** Commits what the open group has written so far. */
  readonly flush: () => void
  /** Nothing, or what resolves when that is done by itself. */
  readonly pending: () => Promise<void> | undefined
  /**
   * Writes what was decided elsewhere, and commits it; answers what `work` answers. What it throws
   * undoes it all. `work` tells the events that it writes, in the order of their positions.
   */
  readonly replicate: (work: (replica: Replica) => void) => Promise<void>
  /**
   * Does to the tables what a step will do, and undoes it: what it throws is what was to be learnt.
   * A step that expects something else than is there is not tried; answers what that is.
   */
  readonly rehearse: (step: Append, work: () => void) => Promise<Conflict | undefined>
}

/** Writes as `append` does, and asks nothing. */
export type Replica = {
  readonly event: (event: LogEvent, folded?: readonly Folded[]) => void
  readonly blob: (instance: string, blob: BlobRequest) => void
}

/**
 * The log in SQLite's WAL. One process writes the file and a step runs without a break, so a
 * conflict comes from a decision that was taken before commits were held, or by another process
 * that only reads the file: what it saw may be older.
 */
export function sqliteLog(parts: Parts): SqliteLog {
  const { database, gate, durability, faultOf, appended } = parts
  const sql = statements(database)
  let undone = 0
  let writes = 0
  const written = writtenOf()
  const { group, commit, replicate } = committer(parts, sql, () => {
    undone++
    writes++
  })
  const settle = async () => {
    try {
      await group.ended()
    } catch (cause) {
      throw faultOf(cause) ?? cause
    }
    await durability.settle()
  }
  const hold = () => gate.open() ?? group.held()
  const held = async () => {
    for (let each = hold(); each; each = hold()) await each
  }
  return {
    append: async (step) => {
      try {
        let isSeen = step.seen === writes
        for (let held = hold(); held; held = hold()) {
          await held
          isSeen = false
        }
        const result = commit(isSeen ? { ...step, expect: [] } : step)
        writes++
        written.note(step, result)
        await settle()
        if (result.kind === "appended") appended?.(step.events)
        return result
      } catch (cause) {
        throw faultOf(cause) ?? cause
      }
    },
    find: finding(parts, sql, written),
    ...readsOf(parts, sql),
    settle,
    durable: durability.durable,
    changes: () => durability.durable() + undone,
    changesOf: (names) => undone + written.steps(names),
    writes: () => writes,
    flush: group.flush,
    pending: group.pending,
    replicate: async (work) => {
      await held()
      replicate(work, (event) => written.event(event, event.position))
      writes++
      const ended = group.ended()
      group.flush()
      await ended
    },
    rehearse: async (step, work) => {
      await held()
      const conflict = conflictOf(sql, parts, step)
      if (!conflict) group.run(work, () => false)
      return conflict
    },
    close: async () => {
      await settle()
      await gate.close()
      await durability.close()
    },
  }
}

function finding(
  { names, durability, head }: Parts,
  sql: Statements,
  written: ReturnType<typeof writtenOf>,
): Log["find"] {
  return async (position, limit, types) => {
    // Most often nobody has written what is asked for; that is known without a look at the disk.
    const isKnown = position >= head && types.every((type) => written.last(type) <= position)
    if (isKnown) return { events: [], upTo: Math.max(position, durability.durable()) }
    const upTo = sql.window.get(position, durability.durable(), limit)?.last ?? position
    const codes = types.flatMap((type) => names.known(type) ?? [])
    const rows = upTo > position && codes.length > 0
    const found = rows ? sql.find.all(position, upTo, JSON.stringify(codes)) : []
    return { events: found.map((row) => decode(row, names)), upTo }
  }
}

/** What is on disk, as it was written. */
export function readsOf(
  {
    names,
    durability,
  }: Pick<Parts, "names"> & { readonly durability: Pick<Durability, "durable"> },
  sql: Statements,
): Pick<Log, "at" | "read" | "history" | "holder" | "blob"> {
  return {
    holder: (instance, kind, key, time) => {
      const row = claimOf(sql, instance, kind, key)
      return row && !expired(row, time) ? { stream: row.stream, id: row.id } : undefined
    },
    blob: ({ instance, stream, id, name }) => {
      const row = sql.blob.get(instance, id, stream, name)
      if (row && !isBlobWhole(row)) throw damagedError(blobName(row))
      return row?.bytes
    },
    at: async (positions) => {
      const rows = new Map(
        sql.at.all(JSON.stringify(positions)).map((row) => [row.position, row] as const),
      )
      return positions.flatMap((position) => {
        const row = rows.get(position)
        return row ? [decode(row, names)] : []
      })
    },
    read: async (position, limit) =>
      sql.read.all(position, durability.durable(), limit).map((row) => decode(row, names)),
    history: async ({ instance, stream, id, from, since = 0, asc, limit }) => {
      const start = from ?? (asc ? 0 : Number.MAX_SAFE_INTEGER)
      const rows = (asc ? sql.onward : sql.back).all(
        ...[instance, names.known(stream) ?? 0, id, start, durability.durable(), since, limit],
      )
      return rows.map((row) => decode(row, names))
    },
  }
}

/** Takes steps into groups, and keeps what is known in memory true to what is in the tables. */
function committer(parts: Parts, sql: Statements, lost: () => void) {
  const { database, names, eventTypes, gate, durability } = parts
  let committed = { head: parts.head, events: 0, idTime: numberAt(database, "ids") }
  let written = committed
  let erases = false

  const group = groupCommit({
    database,
    busy: durability.syncing,
    committed: () => {
      const events = written.events - committed.events
      committed = written
      names.keep()
      eventTypes.keep()
      durability.wrote(committed.head)
      gate.committed(events, erases)
      erases = false
    },
    undone: () => {
      lost()
      written = committed
      erases = false
      names.forget(0)
      eventTypes.forget(0)
    },
  })

  const take = (work: () => Appended, added: Added): Appended => {
    const marks = { names: names.mark(), eventTypes: eventTypes.mark() }
    const forget = () => {
      names.forget(marks.names)
      eventTypes.forget(marks.eventTypes)
    }
    try {
      const result = group.run(work, ({ kind }) => kind === "appended")
      if (result.kind === "appended") {
        const idTime = keptIdTime(added, written)
        written = { head: result.position, events: written.events + added.events.length, idTime }
        erases ||= added.events.some(({ erase }) => erase) || added.blobs?.some(isDrop) === true
      } else forget()
      return result
    } catch (cause) {
      lost()
      forget()
      throw cause
    }
  }
  return {
    group,
    commit: (step: Append) => take(() => write(sql, parts, step, written), step),
    replicate: (work: (replica: Replica) => void, note: (event: LogEvent) => void) => {
      const events: LogEvent[] = []
      const event: Replica["event"] = (placed, folded) => {
        insert(sql, parts, placed)
        parts.apply(placed, folded)
        note(placed)
        events.push(placed)
      }
      const blob: Replica["blob"] = (instance, each) => keep(sql, instance, each)
      const replicate = (): Appended => {
        work({ event, blob })
        return { kind: "appended", position: events.at(-1)?.position ?? written.head }
      }
      take(replicate, { events })
    },
  }
}

type Added = Pick<Append, "blobs" | "idTime"> & {
  readonly events: readonly Pick<LogEvent, "erase">[]
}

const isDrop = (blob: BlobRequest) => "drop" in blob

type Conflict = Extract<Appended, { kind: "conflict" }>

type Written = { readonly head: number; readonly idTime: number }

/** Ids of the next second are kept with those of this one: a row a second, not one a step. */
const idTimeStep = 1000
const keptIdTime = ({ idTime = 0 }: Pick<Append, "idTime">, written: Written): number =>
  idTime > written.idTime ? idTime + idTimeStep : written.idTime

/** What a step expects to stand otherwise than it does. */
function conflictOf(sql: Statements, { names }: Parts, step: Append): Conflict | undefined {
  for (const { stream, id, version } of step.expect) {
    const code = names.known(stream)
    const from = code === undefined ? [] : sql.versions.all(step.instance, code, id, version)
    // Versions have no gaps: the expected one is there, unless it is none, and no newer one.
    const stands = from.length === Math.min(version, 1) && (from[0]?.version ?? 0) === version
    if (!stands) return { kind: "conflict", stream, id }
  }
  return undefined
}

/** Checks what a step expects and claims, and writes it after position `head`. */
function write(sql: Statements, parts: Parts, step: Append, written: Written): Appended {
  const conflict = conflictOf(sql, parts, step)
  if (conflict) return conflict
  for (const claim of step.claims) {
    if (!change(sql, step, claim)) return { kind: "taken", claim }
  }
  const idTime = keptIdTime(step, written)
  if (idTime > written.idTime) sql.idTime.run(idTime)
  let position = written.head
  for (const event of step.events) {
    position++
    const placed: LogEvent = { ...event, position }
    insert(sql, parts, placed)
    parts.apply(placed, step.folded)
  }
  for (const blob of step.blobs ?? []) keep(sql, step.instance, blob)
  return { kind: "appended", position }
}

function keep(sql: Statements, instance: string, blob: BlobRequest): void {
  const { stream, id } = blob
  if ("drop" in blob) {
    sql.dropBlob.run(instance, id, stream, blob.drop)
    return
  }
  const { put: name, bytes } = blob
  const sum = blobSum({ instance, id, stream, name, bytes })
  sql.putBlob.run(instance, id, stream, name, sum, bytes)
}

/** False when somebody else holds the key. Taking again what one holds already renews it. */
function change(sql: Statements, step: Append, claim: ClaimRequest): boolean {
  // Claims of no instance are all instances'.
  const instance = claim.everywhere ? "" : step.instance
  if ("release" in claim) {
    sql.release.run(instance, claim.release, claim.key, claim.stream, claim.id)
    return true
  }
  const { take: kind, key, stream, id, expires = null } = claim
  const sum = claimSum({ instance, kind, key, stream, id, expires })
  // Most keys are free, and then nobody needs to look first.
  if (sql.take.run(instance, kind, key, stream, id, expires, sum).changes > 0) return true
  const row = claimOf(sql, instance, kind, key)
  const own = row?.stream === stream && row.id === id
  if (row && !own && !expired(row, step.time)) return false
  sql.retake.run(stream, id, expires, sum, instance, kind, key)
  return true
}

/** Refuses a claim that is damaged: it may be somebody else's, or over. */
function claimOf(sql: Statements, instance: string, kind: string, key: string) {
  const row = sql.claim.get(instance, kind, key)
  if (row && !isClaimWhole(row)) throw damagedError(claimName(row))
  return row
}

const expired = (row: SummedClaim, time: number) => row.expires !== null && row.expires <= time

function insert(sql: Statements, { names, eventTypes }: Parts, event: LogEvent): void {
  const stream = names.code(event.stream)
  if (event.erase) erase(sql, names, event)
  const data = JSON.stringify(event.data)
  const secret = event.private === null ? null : JSON.stringify(event.private)
  const row: Omit<EventRow, "sum" | "private_sum"> = {
    position: event.position,
    instance: event.instance,
    stream,
    id: event.id,
    version: event.version,
    type: names.code(event.type),
    revision: event.revision,
    data,
    private: secret,
    time: event.time,
    editor_user: event.editor.user,
    editor_client: event.editor.client,
    owner: event.owner,
    correlation: event.correlation,
    erase: event.erase ? JSON.stringify(event.erase) : null,
  }
  eventTypes.note(row)
  sql.insert.run(
    row.position,
    row.instance,
    row.stream,
    row.id,
    row.version,
    row.type,
    row.revision,
    row.data,
    row.private,
    row.time,
    row.editor_user,
    row.editor_client,
    row.owner,
    row.correlation,
    row.erase,
    sumOf(row),
    privateSum(row),
  )
}

/** Takes the privates that the event makes void out of its stream's earlier events. */
function erase(sql: Statements, names: Names, event: LogEvent): void {
  const stream = names.code(event.stream)
  if (!event.erase?.types) {
    sql.eraseAll.run(event.instance, stream, event.id, event.version)
    sql.dropBlobs.run(event.instance, event.id, event.stream)
    return
  }
  for (const type of event.erase.types) {
    sql.eraseType.run(event.instance, stream, event.id, event.version, names.code(type))
  }
}

type Statements = ReturnType<typeof statements>

const lastOf = `SELECT max(position) AS last FROM (SELECT position FROM event
  WHERE position > ? AND position <= ? ORDER BY position LIMIT ?)`
const eventsAt = "SELECT * FROM event WHERE position IN (SELECT value FROM json_each(?))"

/** Positional parameters: this is the hottest path, and every statement stands here alone. */
export function statements(database: Database) {
  const prepare = <Row = unknown>(text: string) =>
    // Reason for the cast: bun:sqlite types parameters per statement; ours are checked by use.
    database.prepare<Row, (string | number | Uint8Array | null)[]>(text)
  return {
    // Seven times as fast as the newest version by ORDER BY or max().
    versions: prepare<{ version: number }>(
      `SELECT version FROM event WHERE instance = ? AND stream = ? AND id = ? AND version >= ?
       LIMIT 2`,
    ),
    insert: prepare(
      `INSERT INTO event (position, instance, stream, id, version, type, revision, data, private,
         time, editor_user, editor_client, owner, correlation, erase, sum, private_sum)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    eraseAll: prepare(
      `UPDATE event SET private = NULL, private_sum = NULL
       WHERE instance = ? AND stream = ? AND id = ? AND version < ?`,
    ),
    eraseType: prepare(
      `UPDATE event SET private = NULL, private_sum = NULL
       WHERE instance = ? AND stream = ? AND id = ? AND version < ? AND type = ?`,
    ),
    claim: prepare<SummedClaim>("SELECT * FROM claim WHERE instance = ? AND kind = ? AND key = ?"),
    take: prepare(
      `INSERT INTO claim (instance, kind, key, stream, id, expires, sum)
       VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    retake: prepare(
      `UPDATE claim SET stream = ?, id = ?, expires = ?, sum = ?
       WHERE instance = ? AND kind = ? AND key = ?`,
    ),
    idTime: prepare(
      `INSERT INTO meta (key, value) VALUES ('ids', ?)
       ON CONFLICT DO UPDATE SET value = excluded.value`,
    ),
    release: prepare(
      `DELETE FROM claim
       WHERE instance = ? AND kind = ? AND key = ? AND stream = ? AND id = ?`,
    ),
    blob: prepare<SummedBlob>(
      "SELECT * FROM blob WHERE instance = ? AND id = ? AND stream = ? AND name = ?",
    ),
    putBlob: prepare(
      `INSERT INTO blob (instance, id, stream, name, sum, bytes) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET sum = excluded.sum, bytes = excluded.bytes`,
    ),
    dropBlob: prepare("DELETE FROM blob WHERE instance = ? AND id = ? AND stream = ? AND name = ?"),
    dropBlobs: prepare("DELETE FROM blob WHERE instance = ? AND id = ? AND stream = ?"),
    read: prepare<EventRow>(
      "SELECT * FROM event WHERE position > ? AND position <= ? ORDER BY position LIMIT ?",
    ),
    at: prepare<EventRow>(eventsAt),
    window: prepare<{ last: number | null }>(lastOf),
    onward: prepare<EventRow>(
      `SELECT * FROM event WHERE instance = ? AND stream = ? AND id = ? AND version > ?
         AND position <= ? AND time >= ? ORDER BY version LIMIT ?`,
    ),
    back: prepare<EventRow>(
      `SELECT * FROM event WHERE instance = ? AND stream = ? AND id = ? AND version < ?
         AND position <= ? AND time >= ? ORDER BY version DESC LIMIT ?`,
    ),
    find: prepare<EventRow>(
      `SELECT * FROM event WHERE position > ? AND position <= ?
         AND type IN (SELECT value FROM json_each(?)) ORDER BY position`,
    ),
  }
}
