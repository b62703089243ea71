// The format of transactions and events between a node and PostgreSQL: JSON arrays in the order of
// these lists.
import type { Append, BlobRequest, ClaimRequest, LogEvent, NewEvent } from "../log/log.ts"
import type { AppendOutcome, ChainLink, LogChange, LogPage } from "./shared-log.ts"

/**
 * Escapes a text for PostgreSQL, which rejects NUL and unpaired surrogates; the latter become the
 * UTF-8 replacement character.
 */
export const escapeText = (text: string): string =>
  needsEscaping.test(text)
    ? text.toWellFormed().replaceAll("\\", "\\\\").replaceAll("\0", "\\0")
    : text
const needsEscaping = /[\\\0\ud800-\udfff]/

/** Reverses the escaping. */
export const unescapeText = (text: string): string =>
  text.includes("\\") ? text.replace(/\\(.)/g, (_, of) => (of === "0" ? "\0" : "\\")) : text

/**
 * Rounds a time for PostgreSQL: JWTs from other systems may contain fractions and arbitrary
 * numbers.
 */
export const toWholeMs = (ms: number): number => Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER)

/** A batch as JSON text, which the database parses once. */
export const encodeSteps = (steps: readonly Append[]): string =>
  JSON.stringify(steps.map(encodeStep))

const encodeStep = (step: Append) => ({
  instance: escapeText(step.instance),
  time: step.time,
  idTime: step.idTime ?? 0,
  expect: step.expect.map(({ stream, id, version }) => ({ stream, id: escapeText(id), version })),
  claims: step.claims.map((claim) => encodeClaim(step.instance, claim)),
  events: step.events.map(encodeEvent),
  blobs: (step.blobs ?? []).map(encodeBlob),
})

// Claims without an instance apply to all instances.
function encodeClaim(stepInstance: string, claim: ClaimRequest) {
  const { stream, key } = claim
  const of = {
    instance: escapeText(claim.everywhere ? "" : stepInstance),
    key: escapeText(key),
    stream,
  }
  const claimFields = { ...of, id: escapeText(claim.id) }
  if ("release" in claim) return { ...claimFields, release: claim.release }
  const expires = claim.expires === undefined ? null : toWholeMs(claim.expires)
  return { ...claimFields, take: claim.take, expires }
}

const encodeBlob = (blob: BlobRequest) => ({
  stream: blob.stream,
  id: escapeText(blob.id),
  ...("drop" in blob
    ? { drop: escapeText(blob.drop) }
    : { put: escapeText(blob.put), bytes: Buffer.from(blob.bytes).toString("base64") }),
})

export const encodeEvent = (event: NewEvent) => [
  escapeText(event.instance),
  event.stream,
  escapeText(event.id),
  event.version,
  event.type,
  event.revision,
  JSON.stringify(event.data),
  event.private === null ? null : JSON.stringify(event.private),
  event.time,
  escapeText(event.editor.user),
  escapeText(event.editor.client),
  escapeText(event.owner),
  escapeText(event.correlation),
  event.erase === null ? null : JSON.stringify(event.erase),
]

/** The response format of our SQL functions, which is trusted. */
export type WirePage = {
  readonly head: number
  readonly headNumber: number
  readonly position: number
  readonly number: number
  readonly events: readonly WireEvent[] | null
  readonly changes: readonly WireChange[] | null
}

export type WireEvent = readonly [
  position: number,
  instance: string,
  stream: string,
  id: string,
  version: number,
  type: string,
  revision: number,
  data: string,
  secret: string | null,
  time: number,
  user: string,
  client: string,
  owner: string,
  correlation: string,
  erase: string | null,
]

type StreamKey = readonly [instance: string, stream: string, id: string]

export type WireChange =
  | readonly [number, number, "take", string, string, string, string, string, number | null]
  | readonly [number, number, "release", number]
  | readonly [number, number, "put" | "drop", ...StreamKey, string]
  | readonly [number, number, "forget", ...StreamKey, number]

export const decodePage = (
  { head, headNumber, position, number, events, changes }: WirePage,
  { epoch, mark }: { readonly epoch: number; readonly mark: ChainLink | null },
): LogPage => ({
  head: { position: head, number: headNumber },
  upTo: { position, number, epoch, ...(mark && { mark }) },
  events: (events ?? []).map(decodeEvent),
  changes: (changes ?? []).map(decodeChange),
})

export function decodeEvent(row: WireEvent): LogEvent {
  const [position, instance, stream, id, version, type, revision, data, secret, time, ...rest] = row
  const [user, client, owner, correlation, erase] = rest
  return {
    position,
    instance: unescapeText(instance),
    stream,
    id: unescapeText(id),
    version,
    type,
    revision,
    data: JSON.parse(data),
    private: secret === null ? null : JSON.parse(secret),
    time,
    editor: { user: unescapeText(user), client: unescapeText(client) },
    owner: unescapeText(owner),
    correlation: unescapeText(correlation),
    erase: erase === null ? null : JSON.parse(erase),
  }
}

function decodeChange(row: WireChange): LogChange {
  const [number, position] = row
  const at = { number, position }
  if (row[2] === "release") return { ...at, kind: "release", of: row[3] }
  if (row[2] === "take") {
    const [, , kind, instance, claim, key, stream, id, expires] = row
    const holder = { stream, id: unescapeText(id), expires }
    return {
      ...at,
      kind,
      instance: unescapeText(instance),
      claim,
      key: unescapeText(key),
      ...holder,
    }
  }
  const [, , , instance, stream, id] = row
  const of = { instance: unescapeText(instance), stream, id: unescapeText(id) }
  if (row[2] === "forget") return { ...at, kind: "forget", ...of, expires: row[6] }
  return { ...at, kind: row[2], ...of, name: unescapeText(row[6]) }
}

/** The stream of a conflict is escaped. */
export const decodeOutcome = (outcome: AppendOutcome): AppendOutcome =>
  outcome.kind === "conflict" ? { ...outcome, id: unescapeText(outcome.id) } : outcome
