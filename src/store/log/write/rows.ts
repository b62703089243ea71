import type { EventTypes } from "../event-types.ts"
import type { Append, Appended, Apply, BlobRequest, ClaimRequest, LogEvent } from "../log.ts"
import {
  blobSum,
  claimName,
  claimSum,
  damagedError,
  type EventRow,
  isClaimWhole,
  type Names,
  privateSum,
  type SummedClaim,
  sumOf,
} from "../row.ts"
import type { Statements } from "./statements.ts"

/** What rows of the log are written with. */
export type Writing = {
  readonly names: Names
  readonly eventTypes: EventTypes
  readonly apply: Apply
}

export type Conflict = Extract<Appended, { kind: "conflict" }>

export type Written = { readonly head: number; readonly idTime: number }

/** Ids of the next second are kept with those of this one: a row a second, not one a step. */
const idTimeStep = 1000
export const keptIdTime = ({ idTime = 0 }: Pick<Append, "idTime">, written: Written): number =>
  idTime > written.idTime ? idTime + idTimeStep : written.idTime

/** What a step expects to stand otherwise than it does. */
export function conflictOf(
  sql: Statements,
  { names }: Writing,
  step: Append,
): Conflict | undefined {
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
export function write(sql: Statements, parts: Writing, step: Append, written: Written): Appended {
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

export function keep(sql: Statements, instance: string, blob: BlobRequest): void {
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
export function claimOf(sql: Statements, instance: string, kind: string, key: string) {
  const row = sql.claim.get(instance, kind, key)
  if (row && !isClaimWhole(row)) throw damagedError(claimName(row))
  return row
}

export const expired = (row: SummedClaim, time: number) =>
  row.expires !== null && row.expires <= time

export function insert(sql: Statements, { names, eventTypes }: Writing, event: LogEvent): void {
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
