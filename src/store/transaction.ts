import type { Call } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import type { Aggregate, AnyAggregate, CommandContext, Transaction } from "./aggregate.ts"
import type { AnyDraft, AnyEvent, ClaimChange, Receipt } from "./event.ts"
import { downcastPayload, revisionOf } from "./log/event-types.ts"
import type {
  Append,
  BlobRequest,
  ClaimRequest,
  Expectation,
  FoldedStream,
  Log,
  NewEvent,
} from "./log/log.ts"
import { initialRow, type StateRow, type States } from "./state/state.ts"
import type { ReadViews } from "./view/views.ts"

/** The inputs of decisions. */
export type TransactionReads = Pick<States, "fold"> & {
  readonly row: (instance: string, kind: AnyAggregate, id: string) => StateRow
  readonly holder: Log["holder"]
  readonly rows: ReadViews["all"]
}

/** What one attempt of a transaction has decided so far, by stream. */
export type TransactionDraft = {
  readonly now: number
  readonly pending: Map<string, PendingStream>
  /** Whether an earlier attempt has conflicted. */
  readonly isRetry: boolean
}

/** A stream in a transaction. */
type PendingStream = {
  readonly kind: AnyAggregate
  readonly id: string
  readonly row: StateRow
  /** Whether the stream was assumed empty without a lookup. */
  readonly isBegun: boolean
  state: unknown
  owner: string
  readonly drafts: { readonly draft: AnyDraft; readonly event: NewEvent }[]
}

/** Starts one attempt of a transaction. */
export function createTransaction(
  reading: TransactionReads,
  cx: CommandContext,
  { now, pending, isRetry }: TransactionDraft,
): Transaction {
  const open = (kind: AnyAggregate, id: string, isNew = false): PendingStream => {
    const key = `${kind.stream}/${id}`
    const known = pending.get(key)
    if (known) return known
    const row = isNew ? initialRow(kind) : reading.row(cx.instance, kind, id)
    const { state, owner } = row
    const entry: PendingStream = { kind, id, row, isBegun: isNew, state, owner, drafts: [] }
    pending.set(key, entry)
    return entry
  }
  // Field by field: a copy of the call would evaluate all its getters.
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
    // Reason for the cast: the registry finds aggregates by stream name, so the types match.
    state: <E extends AnyEvent, S>(kind: Aggregate<E, S>, id: string) => open(kind, id).state as S,
    owner: (kind, id) => open(kind, id).owner,
    holder: (kind, key) => reading.holder(cx.instance, kind, key, now),
    rows: (query, values) => reading.rows(query, { instance: cx.instance }, values),
    begin: (kind, id) => void open(kind, id, !isRetry),
    append: (kind, id, drafts, owner) => {
      const entry = open(kind, id)
      if (entry.row.version + entry.drafts.length === 0) entry.owner = owner ?? ""
      for (const draft of drafts) {
        const event = createEvent({ cx, entry, draft, now })
        entry.drafts.push({ draft, event })
        entry.state = reading.fold(entry.state, event)
      }
    },
  }
}

/**
 * The state row of a stream directly after a transaction that ended at `position`; undefined for
 * other streams.
 */
export function rowAfter(
  draft: TransactionDraft,
  { stream }: AnyAggregate,
  { id, position }: { readonly id: string; readonly position: number },
): StateRow | undefined {
  const entry = draft.pending.get(`${stream}/${id}`)
  return entry && rowAt(entry, draft, position)
}

/** The state row of a stream directly after a transaction, regardless of later events. */
function rowAt(
  entry: PendingStream,
  { now, pending }: TransactionDraft,
  position: number,
): StateRow {
  const { row, drafts, owner, state } = entry
  if (drafts.length === 0) return row
  // A transaction writes its events stream by stream.
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

function createEvent(from: {
  cx: Omit<Call, "clock">
  entry: PendingStream
  draft: AnyDraft
  now: number
}): NewEvent {
  const { cx, entry, draft, now } = from
  const caller = cx.caller
  const secret = draft.private ?? null
  // Reason for the cast: payloads are objects by declaration, and downcasters read them.
  const payload = { data: draft.data, private: secret } as Parameters<typeof downcastPayload>[2]
  const before = entry.kind.downcasters && downcastPayload(entry.kind, draft.type, payload)
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

/** The log input of an attempt. */
export function createAppend(cx: CommandContext, { now, pending }: TransactionDraft): Append {
  const expect: Expectation[] = []
  const events: NewEvent[] = []
  const claims: ClaimRequest[] = []
  const blobs: BlobRequest[] = []
  const folded: FoldedStream[] = []
  const begun: Expectation[] = []
  for (const { kind, id, row, isBegun, state, owner, drafts } of pending.values()) {
    const { stream } = kind
    // Without an event, the unique index can't detect that the assumption was wrong.
    if (isBegun && drafts.length === 0)
      throw new Error(`${stream}/${id} was declared empty, but has no new events`)
    if (isBegun) begun.push({ stream, id, version: 0 })
    expect.push({ stream, id, version: row.version })
    if (drafts.length > 0) {
      const version = row.version + drafts.length
      const created = row.version === 0 ? now : row.created
      folded.push({ stream, id, version, state, created, owner })
    }
    for (const { draft, event } of drafts) {
      events.push(event)
      claims.push(...createClaimRequests(kind, id, draft))
      blobs.push(...createBlobRequests(kind, id, draft))
    }
  }
  // A key that is released and taken in the same transaction must be released first.
  claims.sort((a, b) => Number("take" in a) - Number("take" in b))
  const idTime = cx.ids.newest()
  return { instance: cx.instance, time: now, expect, events, claims, blobs, folded, idTime, begun }
}

/** A claim expires independently, so that one without expiry would outlive its pruned stream. */
function createClaimRequests(
  kind: AnyAggregate,
  id: string,
  { claims = [] }: AnyDraft,
): ClaimRequest[] {
  const { stream, retention } = kind
  const isEndless = (claim: ClaimChange) => "take" in claim && claim.expires === undefined
  if (retention !== "forever" && claims.some(isEndless)) {
    throw new Error(`${stream} is transient, so its claims require an expiry`)
  }
  return claims.map((claim) => ({ ...claim, stream, id }))
}

/** Pruning a stream would leave its blobs behind. */
function createBlobRequests(
  { stream, retention }: AnyAggregate,
  id: string,
  draft: AnyDraft,
): BlobRequest[] {
  const { blobs = [] } = draft
  if (retention !== "forever" && blobs.length > 0) {
    throw new Error(`${stream} is transient, so it can't have blobs`)
  }
  return blobs.map((blob) => ({ ...blob, stream, id }))
}

export function takenError(claim: ClaimChange): Fault {
  if (!("taken" in claim)) throw new Error("a release can't be rejected")
  return new Fault("already_exists", claim.taken.id, claim.taken.message)
}

export function createReceipt(id: string, row: StateRow): Receipt {
  const { version, position, created, changed, owner } = row
  return { id, version, position, created, changed, owner }
}
