// How steps and events travel between a node and PostgreSQL: as JSON, in the order of these lists.
import type { Append, BlobRequest, ClaimRequest, LogEvent, NewEvent } from "../log/log.ts"
import type { Change, Mark, Outcome, Page } from "./shared-log.ts"

/**
 * A text as PostgreSQL can keep it: it has no NUL, and refuses halves of a character, which are
 * kept as what UTF-8 makes of them.
 */
export const shown = (text: string): string =>
  needsCare.test(text) ? text.toWellFormed().replaceAll("\\", "\\\\").replaceAll("\0", "\\0") : text
const needsCare = /[\\\0\ud800-\udfff]/

/** The same text as it was. */
export const told = (text: string): string =>
  text.includes("\\") ? text.replace(/\\(.)/g, (_, of) => (of === "0" ? "\0" : "\\")) : text

/** A time as PostgreSQL keeps it: others write fractions into what they sign, and any number. */
export const wholeMs = (ms: number): number => Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER)

/** One batch, as text: the database reads it once. */
export const stepsText = (steps: readonly Append[]): string => JSON.stringify(steps.map(stepOf))

const stepOf = (step: Append) => ({
  instance: shown(step.instance),
  time: step.time,
  idTime: step.idTime ?? 0,
  expect: step.expect.map(({ stream, id, version }) => ({ stream, id: shown(id), version })),
  claims: step.claims.map((claim) => claimOf(step.instance, claim)),
  events: step.events.map(eventOf),
  blobs: (step.blobs ?? []).map(blobOf),
})

// Claims of no instance are all instances'.
function claimOf(ofStep: string, claim: ClaimRequest) {
  const { stream, key } = claim
  const of = { instance: shown(claim.everywhere ? "" : ofStep), key: shown(key), stream }
  const held = { ...of, id: shown(claim.id) }
  if ("release" in claim) return { ...held, release: claim.release }
  const expires = claim.expires === undefined ? null : wholeMs(claim.expires)
  return { ...held, take: claim.take, expires }
}

const blobOf = (blob: BlobRequest) => ({
  stream: blob.stream,
  id: shown(blob.id),
  ...("drop" in blob
    ? { drop: shown(blob.drop) }
    : { put: shown(blob.put), bytes: Buffer.from(blob.bytes).toString("base64") }),
})

export const eventOf = (event: NewEvent) => [
  shown(event.instance),
  event.stream,
  shown(event.id),
  event.version,
  event.type,
  event.revision,
  JSON.stringify(event.data),
  event.private === null ? null : JSON.stringify(event.private),
  event.time,
  shown(event.editor.user),
  shown(event.editor.client),
  shown(event.owner),
  shown(event.correlation),
  event.erase === null ? null : JSON.stringify(event.erase),
]

/** What the database answers with; its own functions make it, so it is what it says it is. */
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

type Named = readonly [instance: string, stream: string, id: string]

export type WireChange =
  | readonly [number, number, "take", string, string, string, string, string, number | null]
  | readonly [number, number, "release", number]
  | readonly [number, number, "put" | "drop", ...Named, string]
  | readonly [number, number, "forget", ...Named, number]

export const pageOf = (
  { head, headNumber, position, number, events, changes }: WirePage,
  { epoch, mark }: { readonly epoch: number; readonly mark: Mark | null },
): Page => ({
  head: { position: head, number: headNumber },
  upTo: { position, number, epoch, ...(mark && { mark }) },
  events: (events ?? []).map(eventFrom),
  changes: (changes ?? []).map(changeFrom),
})

export function eventFrom(row: WireEvent): LogEvent {
  const [position, instance, stream, id, version, type, revision, data, secret, time, ...rest] = row
  const [user, client, owner, correlation, erase] = rest
  return {
    position,
    instance: told(instance),
    stream,
    id: told(id),
    version,
    type,
    revision,
    data: JSON.parse(data),
    private: secret === null ? null : JSON.parse(secret),
    time,
    editor: { user: told(user), client: told(client) },
    owner: told(owner),
    correlation: told(correlation),
    erase: erase === null ? null : JSON.parse(erase),
  }
}

function changeFrom(row: WireChange): Change {
  const [number, position] = row
  const at = { number, position }
  if (row[2] === "release") return { ...at, kind: "release", of: row[3] }
  if (row[2] === "take") {
    const [, , kind, instance, claim, key, stream, id, expires] = row
    const holder = { stream, id: told(id), expires }
    return { ...at, kind, instance: told(instance), claim, key: told(key), ...holder }
  }
  const [, , , instance, stream, id] = row
  const of = { instance: told(instance), stream, id: told(id) }
  if (row[2] === "forget") return { ...at, kind: "forget", ...of, expires: row[6] }
  return { ...at, kind: row[2], ...of, name: told(row[6]) }
}

/** A conflict names its stream as it was shown. */
export const outcomeFrom = (outcome: Outcome): Outcome =>
  outcome.kind === "conflict" ? { ...outcome, id: told(outcome.id) } : outcome
