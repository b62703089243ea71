import type { EventTypes } from "../event-types.ts"
import type {
  Append,
  AppendResult,
  ApplyEvent,
  BlobRequest,
  ClaimRequest,
  LogEvent,
} from "../log.ts"
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

/** The dependencies of row writes. */
export type WriteParts = {
  readonly names: Names
  readonly eventTypes: EventTypes
  readonly apply: ApplyEvent
}

export type Conflict = Extract<AppendResult, { kind: "conflict" }>

export type WriteProgress = { readonly head: number; readonly idTime: number }

/** ID times are rounded up to the next second: one row per second, not one per transaction. */
const idTimeStepMs = 1000
export const idTimeToStore = (
  { idTime = 0 }: Pick<Append, "idTime">,
  written: WriteProgress,
): number => (idTime > written.idTime ? idTime + idTimeStepMs : written.idTime)

/** The first expected version that differs. */
export function findConflict(
  sql: Statements,
  { names }: WriteParts,
  step: Append,
): Conflict | undefined {
  for (const { stream, id, version } of step.expect) {
    const code = names.findCode(stream)
    const from = code === undefined ? [] : sql.versions.all(step.instance, code, id, version)
    // Versions have no gaps: the expected one exists, unless it is 0, and no newer one.
    const matches = from.length === Math.min(version, 1) && (from[0]?.version ?? 0) === version
    if (!matches) return { kind: "conflict", stream, id }
  }
  return undefined
}

/** Checks expected versions and claims of a transaction, and writes it after position `head`. */
export function writeStep(
  sql: Statements,
  parts: WriteParts,
  step: Append,
  written: WriteProgress,
): AppendResult {
  const conflict = findConflict(sql, parts, step)
  if (conflict) return conflict
  for (const claim of step.claims) {
    if (!applyClaim(sql, step, claim)) return { kind: "taken", claim }
  }
  const idTime = idTimeToStore(step, written)
  if (idTime > written.idTime) sql.idTime.run(idTime)
  let position = written.head
  for (const event of step.events) {
    position++
    const placed: LogEvent = { ...event, position }
    insertEvent(sql, parts, placed)
    parts.apply(placed, step.folded)
  }
  for (const blob of step.blobs ?? []) writeBlob(sql, step.instance, blob)
  return { kind: "appended", position }
}

export function writeBlob(sql: Statements, instance: string, blob: BlobRequest): void {
  const { stream, id } = blob
  if ("drop" in blob) {
    sql.dropBlob.run(instance, id, stream, blob.drop)
    return
  }
  const { put: name, bytes } = blob
  const sum = blobSum({ instance, id, stream, name, bytes })
  sql.putBlob.run(instance, id, stream, name, sum, bytes)
}

/** False if another stream holds the key. Taking a key again renews it. */
function applyClaim(sql: Statements, step: Append, claim: ClaimRequest): boolean {
  // Claims without an instance apply to all instances.
  const instance = claim.everywhere ? "" : step.instance
  if ("release" in claim) {
    sql.release.run(instance, claim.release, claim.key, claim.stream, claim.id)
    return true
  }
  const { take: kind, key, stream, id, expires = null } = claim
  const sum = claimSum({ instance, kind, key, stream, id, expires })
  // Most keys are free, so the insert comes first.
  if (sql.take.run(instance, kind, key, stream, id, expires, sum).changes > 0) return true
  const row = findClaim(sql, instance, kind, key)
  const ownClaim = row?.stream === stream && row.id === id
  if (row && !ownClaim && !isExpired(row, step.time)) return false
  sql.retake.run(stream, id, expires, sum, instance, kind, key)
  return true
}

/** Throws on a damaged claim: it may belong to another stream, or be expired. */
export function findClaim(sql: Statements, instance: string, kind: string, key: string) {
  const row = sql.claim.get(instance, kind, key)
  if (row && !isClaimWhole(row)) throw damagedError(claimName(row))
  return row
}

export const isExpired = (row: SummedClaim, time: number) =>
  row.expires !== null && row.expires <= time

export function insertEvent(
  sql: Statements,
  { names, eventTypes }: WriteParts,
  event: LogEvent,
): void {
  const stream = names.code(event.stream)
  if (event.erase) erasePrivates(sql, names, event)
  const data = JSON.stringify(event.data)
  const privateText = event.private === null ? null : JSON.stringify(event.private)
  const row: Omit<EventRow, "sum" | "private_sum"> = {
    position: event.position,
    instance: event.instance,
    stream,
    id: event.id,
    version: event.version,
    type: names.code(event.type),
    revision: event.revision,
    data,
    private: privateText,
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

/** Erases the private payloads of earlier events that the event names. */
function erasePrivates(sql: Statements, names: Names, event: LogEvent): void {
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
