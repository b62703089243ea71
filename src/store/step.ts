import type { Call } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import type { Aggregate, AnyAggregate, Deciding, Transaction } from "./aggregate.ts"
import type { AnyDraft, AnyEvent, ClaimChange, Receipt } from "./event.ts"
import { payloadBefore, revisionOf } from "./log/event-types.ts"
import type {
  Append,
  BlobRequest,
  ClaimRequest,
  Expectation,
  Folded,
  Log,
  NewEvent,
} from "./log/log.ts"
import { type StateRow, type States, unbegun } from "./state/state.ts"
import type { ReadViews } from "./view/views.ts"

/** What decisions read. */
export type StepReading = Pick<States, "fold"> & {
  readonly row: (instance: string, kind: AnyAggregate, id: string) => StateRow
  readonly holder: Log["holder"]
  readonly rows: ReadViews["all"]
}

/** What one attempt of a step has decided so far, stream by stream. */
export type Drafting = {
  readonly now: number
  readonly pending: Map<string, Pending>
  /** Whether an attempt before this one found otherwise than it had decided on. */
  readonly isAnother: boolean
}

/** A stream as a step sees it. */
type Pending = {
  readonly kind: AnyAggregate
  readonly id: string
  readonly row: StateRow
  /** Whether nobody has looked what is there. */
  readonly isBegun: boolean
  state: unknown
  owner: string
  readonly drafts: { readonly draft: AnyDraft; readonly event: NewEvent }[]
}

/** Opens one attempt of a step. */
export function transactionOf(
  reading: StepReading,
  cx: Deciding,
  { now, pending, isAnother }: Drafting,
): Transaction {
  const open = (kind: AnyAggregate, id: string, isNew = false): Pending => {
    const key = `${kind.stream}/${id}`
    const known = pending.get(key)
    if (known) return known
    const row = isNew ? unbegun(kind) : reading.row(cx.instance, kind, id)
    const { state, owner } = row
    const entry: Pending = { kind, id, row, isBegun: isNew, state, owner, drafts: [] }
    pending.set(key, entry)
    return entry
  }
  // Field by field: a copy of the call would make all that it makes only for who asks.
  return {
    ids: cx.ids,
    random: cx.random,
    secrets: cx.secrets,
    outside: cx.outside,
    warn: cx.warn,
    instance: cx.instance,
    caller: cx.caller,
    scope: cx.scope,
    orgId: cx.orgId,
    outranks: cx.outranks,
    holds: cx.holds,
    authors: cx.authors,
    holdsOnInstance: cx.holdsOnInstance,
    fallback: cx.fallback,
    from: cx.from,
    written: cx.written,
    deadline: cx.deadline,
    get allowance() {
      return cx.allowance
    },
    get languages() {
      return cx.languages
    },
    get requestId() {
      return cx.requestId
    },
    now,
    // Reason for the cast: the registry keys states by stream name, so the type is the kind's.
    state: <E extends AnyEvent, S>(kind: Aggregate<E, S>, id: string) => open(kind, id).state as S,
    owner: (kind, id) => open(kind, id).owner,
    holder: (kind, key) => reading.holder(cx.instance, kind, key, now),
    rows: (query, values) => reading.rows(query, { instance: cx.instance }, values),
    begin: (kind, id) => void open(kind, id, !isAnother),
    append: (kind, id, drafts, owner) => {
      const entry = open(kind, id)
      if (entry.row.version + entry.drafts.length === 0) entry.owner = owner ?? ""
      for (const draft of drafts) {
        const event = eventOf({ cx, entry, draft, now })
        entry.drafts.push({ draft, event })
        entry.state = reading.fold(entry.state, event)
      }
    },
  }
}

/** Where a stream stood right after a step that ended at `position`; undefined for others. */
export function rowAfter(
  draft: Drafting,
  { stream }: AnyAggregate,
  { id, position }: { readonly id: string; readonly position: number },
): StateRow | undefined {
  const entry = draft.pending.get(`${stream}/${id}`)
  return entry && standing(entry, draft, position)
}

/** Where a stream stood right after a step that ended at `position`, whatever came later. */
function standing(entry: Pending, { now, pending }: Drafting, position: number): StateRow {
  const { row, drafts, owner, state } = entry
  if (drafts.length === 0) return row
  // A step writes stream by stream.
  let later = 0
  let isPast = false
  for (const other of pending.values()) {
    if (isPast) later += other.drafts.length
    isPast ||= other === entry
  }
  return {
    version: row.version + drafts.length,
    position: position - later,
    created: row.version === 0 ? now : row.created,
    changed: now,
    owner,
    state,
  }
}

function eventOf(from: {
  cx: Omit<Call, "clock">
  entry: Pending
  draft: AnyDraft
  now: number
}): NewEvent {
  const { cx, entry, draft, now } = from
  const caller = cx.caller
  const secret = draft.private ?? null
  // Reason for the cast: a payload is an object by its declaration, and a downcaster its reader.
  const payload = { data: draft.data, private: secret } as Parameters<typeof payloadBefore>[2]
  const before = entry.kind.downcasters && payloadBefore(entry.kind, draft.type, payload)
  return {
    instance: cx.instance,
    stream: entry.kind.stream,
    id: entry.id,
    version: entry.row.version + entry.drafts.length + 1,
    type: draft.type,
    revision: revisionOf(entry.kind, draft.type),
    data: draft.data,
    private: secret,
    time: now,
    editor:
      caller.kind === "user"
        ? { user: caller.userId, client: caller.clientId }
        : { user: caller.kind === "system" ? caller.name : "", client: "" },
    owner: entry.owner,
    correlation: cx.requestId,
    erase: draft.erase ?? null,
    ...(before && { before }),
  }
}

/** What an attempt hands to the log. */
export function appendOf(cx: Deciding, { now, pending }: Drafting): Append {
  const expect: Expectation[] = []
  const events: NewEvent[] = []
  const claims: ClaimRequest[] = []
  const blobs: BlobRequest[] = []
  const folded: Folded[] = []
  const begun: Expectation[] = []
  for (const { kind, id, row, isBegun, state, owner, drafts } of pending.values()) {
    const { stream } = kind
    // Only an event that is there already would tell that it was decided on what is not so.
    if (isBegun && drafts.length === 0) throw new Error(`${stream}/${id} was begun for nothing`)
    if (isBegun) begun.push({ stream, id, version: 0 })
    expect.push({ stream, id, version: row.version })
    if (drafts.length > 0) {
      const version = row.version + drafts.length
      const created = row.version === 0 ? now : row.created
      folded.push({ stream, id, version, state, created, owner })
    }
    for (const { draft, event } of drafts) {
      events.push(event)
      claims.push(...claimsOf(kind, id, draft))
      blobs.push(...blobsOf(kind, id, draft))
    }
  }
  // A key that one part of the step releases and another takes must be free when it is taken.
  claims.sort((a, b) => Number("take" in a) - Number("take" in b))
  const idTime = cx.ids.newest()
  return { instance: cx.instance, time: now, expect, events, claims, blobs, folded, idTime, begun }
}

/** A claim is dropped by its own time, so one without would outlive a stream that is dropped. */
function claimsOf(kind: AnyAggregate, id: string, { claims = [] }: AnyDraft): ClaimRequest[] {
  const { stream, retention } = kind
  const isEndless = (claim: ClaimChange) => "take" in claim && claim.expires === undefined
  if (retention !== "forever" && claims.some(isEndless)) {
    throw new Error(`streams of ${stream} are not kept, so their claims must say when they expire`)
  }
  return claims.map((claim) => ({ ...claim, stream, id }))
}

/** What is dropped whole would leave its bytes behind. */
function blobsOf({ stream, retention }: AnyAggregate, id: string, draft: AnyDraft): BlobRequest[] {
  const { blobs = [] } = draft
  if (retention !== "forever" && blobs.length > 0) {
    throw new Error(`streams of ${stream} are not kept, so they can't have files`)
  }
  return blobs.map((blob) => ({ ...blob, stream, id }))
}

export function takenError(claim: ClaimChange): Fault {
  if (!("taken" in claim)) throw new Error("a release can't be refused")
  return new Fault("already_exists", claim.taken.id, claim.taken.message)
}

export function receiptOf(id: string, row: StateRow): Receipt {
  const { version, position, created, changed, owner } = row
  return { id, version, position, created, changed, owner }
}
