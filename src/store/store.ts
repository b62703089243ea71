import type { Database } from "bun:sqlite"
import type { Call } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import type { Aggregate, AnyAggregate } from "./aggregate.ts"
import type { AnyDraft, AnyEvent, ClaimChange, Receipt } from "./event.ts"
import { type Horizon, numberAt, type Span } from "./horizon.ts"
import { revisionOf } from "./kind.ts"
import type { Append, ClaimRequest, Expectation, Folded, Log, NewEvent } from "./log.ts"
import type { Pruned, PruneLimits } from "./prune.ts"
import type { Index } from "./search/indexes.ts"
import type { Read, Reader, Reading } from "./search/reader.ts"
import type { StateRow, States } from "./state.ts"
import type { Statement, Values } from "./statement.ts"
import type { SweepLimits } from "./sweep.ts"
import type { Inspecting } from "./view-inspection.ts"
import type { Views } from "./views.ts"

/** A call that may reach the store; what every command and query is handed. */
export type Cx = Call & { readonly store: Store }

/**
 * What a decision may see: its call, one fixed time, and other aggregates. Whatever it looks at
 * joins the expectations of the step, so that nothing it relied on can have changed.
 */
export type Decision = Omit<Call, "clock"> & {
  /** Milliseconds UTC; the time of the events that are decided. */
  readonly now: number
  readonly state: <E extends AnyEvent, State>(kind: Aggregate<E, State>, id: string) => State
  /** The organisation that owns a stream; empty where it doesn't exist or has none. */
  readonly owner: (kind: AnyAggregate, id: string) => string
  /** Holder of a unique key, if any. Only taking it in a draft's `claims` guarantees it. */
  readonly holder: (kind: string, key: string) => { stream: string; id: string } | undefined
}

/** A step under way. Its states already show what it has appended. */
export type Transaction = Decision & {
  /** `owner` counts for the first event of a stream and is then kept. */
  readonly append: (
    kind: AnyAggregate,
    id: string,
    drafts: readonly AnyDraft[],
    owner?: string,
  ) => void
}

export type Step<T> = {
  readonly value: T
  /** The log position that an answer must carry so that every node can serve it. */
  readonly position: number
  readonly receipt: (kind: AnyAggregate, id: string) => Receipt
}

const attemptsMax = 4

/** Runs what writes without the log. */
export type Beside = <T>(work: () => T) => Promise<T>

/** The event log, the state rows and the views of one data folder. */
export class Store {
  readonly log: Log
  readonly #database: Database
  readonly #states: States
  readonly #views: Views
  readonly #prune: (limits: PruneLimits) => Promise<Pruned>
  readonly #sweep: (limits: SweepLimits) => Promise<number>
  readonly #cleanse: () => Promise<void>
  readonly #beside: Beside
  readonly #probe: () => Promise<void>
  readonly #isForgotten: Horizon["isForgotten"]
  readonly #inspect: (how: Inspecting) => Promise<Fault | undefined>
  readonly #faultOf: (cause: unknown) => Fault | undefined
  readonly #reader: Reader
  readonly #flush: () => void
  readonly #close: () => Promise<void>
  readonly #written = new WeakMap<Cx, number>()
  #undone = 0

  constructor(parts: {
    log: Log
    database: Database
    states: States
    views: Views
    prune: (limits: PruneLimits) => Promise<Pruned>
    sweep: (limits: SweepLimits) => Promise<number>
    cleanse: () => Promise<void>
    beside: Beside
    probe: () => Promise<void>
    inspect: (how: Inspecting) => Promise<Fault | undefined>
    faultOf: (cause: unknown) => Fault | undefined
    isForgotten: Horizon["isForgotten"]
    reader: Reader
    /** Commits what the current turn has written so far. */
    flush: () => void
    close: () => Promise<void>
  }) {
    this.log = parts.log
    this.#database = parts.database
    this.#states = parts.states
    this.#views = parts.views
    this.#prune = parts.prune
    this.#sweep = parts.sweep
    this.#cleanse = parts.cleanse
    this.#beside = parts.beside
    this.#probe = parts.probe
    this.#inspect = parts.inspect
    this.#faultOf = parts.faultOf
    this.#isForgotten = parts.isForgotten
    this.#reader = parts.reader
    this.#flush = parts.flush
    this.#close = parts.close
  }

  /**
   * Decides and appends, all or nothing, and resolves when it is on disk; so does a decision that
   * appends nothing or faults, because what it read must not vanish. Decides again when what it
   * saw has changed. Faults with `already_exists` when a claim is taken, with `aborted` after four
   * conflicts.
   */
  async transact<T>(cx: Cx, decide: (tx: Transaction) => T): Promise<Step<T>> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const seen = this.log.writes()
      const draft: Drafting = { now: cx.clock.now(), pending: new Map() }
      let value: T
      try {
        value = decide(this.#transaction(cx, draft))
      } catch (refusal) {
        await this.log.settle()
        throw refusal
      }
      const step = stepOf(cx, draft)
      if (step.events.length === 0) {
        await this.log.settle()
        return this.#done({ cx, value, draft, position: this.log.durable() })
      }
      const result = await this.log.append({ ...step, seen })
      if (result.kind === "appended") {
        this.#written.set(cx, result.position)
        return this.#done({ cx, value, draft, position: result.position })
      }
      if (result.kind === "taken") throw alreadyTaken(result.claim)
    }
    throw new Fault(
      "aborted",
      "store.conflict",
      "somebody else changed the same thing at the same moment; please try again",
    )
  }

  /**
   * Up to when ids may have been made, in ms UTC; 0 where there are none. New ones must lie after
   * it, also where the clock was ahead once. Databases from before it was kept have their events.
   */
  newest(): number {
    const event = this.#database
      .query<{ time: number }, []>("SELECT time FROM event ORDER BY position DESC LIMIT 1")
      .get()
    return Math.max(event?.time ?? 0, numberAt(this.#database, "ids"))
  }

  /** Whether something of so long ago counts no more though its time seems to be to come. */
  isForgotten(span: Span, now: number): boolean {
    return this.#isForgotten(span, now)
  }

  /** The position of the last step of a call, if it wrote; its answer carries it. */
  written(cx: Cx): number | undefined {
    return this.#written.get(cx)
  }

  /** One row of a view, or undefined. */
  get<Row>(cx: Pick<Call, "instance">, query: Statement<Row>, values?: Values): Row | undefined {
    return this.#views.get(query, { instance: cx.instance }, values)
  }

  /** All rows of a query; searches go through `search`, which scopes and pages them. */
  all<Row>(cx: Pick<Call, "instance">, query: Statement<Row>, values?: Values): readonly Row[] {
    return this.#views.all(query, { instance: cx.instance }, values)
  }

  /** The index that has the rows of a table in the order of a column; undefined for none. */
  index(table: string, column: string): Index | undefined {
    return this.#views.index(table, column)
  }

  /**
   * Asks the reader thread. It sees all that has been written before this call, and what it saw is
   * on disk before anybody is told.
   */
  async read<Row>(cx: Pick<Call, "clock" | "deadline">, reading: Reading): Promise<Read<Row>> {
    this.#flush()
    const generation = this.#views.generation()
    const isStill = () => generation === this.#views.generation()
    const how = {
      physical: (query: Statement) => this.#views.sql(query),
      isLate: () => cx.deadline !== undefined && cx.clock.now() >= cx.deadline,
    }
    const answer = await this.#reader.read<Row>(reading, how).catch((cause: unknown) => {
      if (isStill()) throw cause
    })
    // Tables that others took the place of meanwhile may be empty by now, or gone.
    if (answer === undefined || !isStill()) return this.read(cx, reading)
    await this.log.settle()
    return answer
  }

  /** Grows when an event is written that changes what a statement finds, or is undone. */
  stamp(sql: string): number {
    return this.log.changesOf(this.#views.typesIn(sql)) + this.#views.generation()
  }

  /** The key of a view's table, after the instance. */
  keyOf(table: string): string | undefined {
    return this.#views.keyOf(table)
  }

  /** The folded state of a stream, for queries; decisions use theirs. */
  state<E extends AnyEvent, State>(
    cx: Pick<Call, "instance">,
    kind: Aggregate<E, State>,
    id: string,
  ): State {
    // Reason for the cast: the registry keys states by stream name, so the type is the kind's.
    return this.#row(cx.instance, kind, id).state as State
  }

  /** Where a stream stands, or undefined when it doesn't exist. */
  receipt(cx: Pick<Call, "instance">, kind: AnyAggregate, id: string): Receipt | undefined {
    const row = this.#row(cx.instance, kind, id)
    return row.version === 0 ? undefined : receiptOf(id, row)
  }

  /** Views that are being rebuilt; they serve their old rows meanwhile. */
  rebuilding(): readonly string[] {
    return this.#views.rebuilding()
  }

  /** Resolves when no view is being rebuilt any more. */
  rebuilt(): Promise<void> {
    return this.#views.rebuilt()
  }

  /** Drops what has expired: streams whole, with all that was made of them, and claims. */
  prune(limits: PruneLimits): Promise<Pruned> {
    return this.#prune(limits)
  }

  /** Takes away all that a removed instance had; answers how much that was. */
  sweep(limits: SweepLimits): Promise<number> {
    return this.#sweep(limits)
  }

  /** Leaves no bytes of what has been erased in any file; called now and then. */
  cleanse(): Promise<void> {
    return this.#cleanse()
  }

  /** Writes something that is no step: when nobody keeps others from writing. */
  beside<T>(work: () => T): Promise<T> {
    return this.#beside(work)
  }

  /**
   * What callers are told of something that was thrown: a fault as it is, and what the disk did not
   * do in plain words; undefined for bugs. Readiness learns of the disk from here, too.
   */
  faultOf(cause: unknown): Fault | undefined {
    return this.#faultOf(cause)
  }

  /**
   * Looks through all that is kept, in the background, with pauses, and answers the first damage
   * that it finds. What else keeps it from looking is thrown.
   */
  inspect(how: Inspecting): Promise<Fault | undefined> {
    return this.#inspect(how)
  }

  /** Writes a little that nobody needs; throws what the disk says to it. */
  probe(): Promise<void> {
    return this.#probe()
  }

  /** The connection itself, for the store's own parts, backups and tests. */
  get database(): Database {
    return this.#database
  }

  async close(): Promise<void> {
    await this.#close()
  }

  /** From memory where it is there. */
  #row(instance: string, kind: AnyAggregate, id: string): StateRow {
    const undone = this.log.changes() - this.log.durable()
    if (undone !== this.#undone) this.#states.forget()
    this.#undone = undone
    return this.#states.recall(instance, kind, id)
  }

  #transaction(cx: Cx, { now, pending }: Drafting): Transaction {
    const { store: _, clock: __, ...call } = cx
    const open = (kind: AnyAggregate, id: string): Pending => {
      const key = `${kind.stream}/${id}`
      const known = pending.get(key)
      if (known) return known
      const row = this.#row(cx.instance, kind, id)
      const entry: Pending = { kind, id, row, state: row.state, owner: row.owner, drafts: [] }
      pending.set(key, entry)
      return entry
    }
    return {
      ...call,
      now,
      // Reason for the cast: the registry keys states by stream name, so the type is the kind's.
      state: <E extends AnyEvent, S>(kind: Aggregate<E, S>, id: string) =>
        open(kind, id).state as S,
      owner: (kind, id) => open(kind, id).owner,
      holder: (kind, key) => this.log.holder(cx.instance, kind, key, now),
      append: (kind, id, drafts, owner) => {
        const entry = open(kind, id)
        if (entry.row.version + entry.drafts.length === 0) entry.owner = owner ?? ""
        for (const draft of drafts) {
          const event = eventOf({ cx: call, entry, draft, now })
          entry.drafts.push({ draft, event })
          entry.state = this.#states.fold(entry.state, event)
        }
      },
    }
  }

  #done<T>(step: { cx: Cx; value: T; draft: Drafting; position: number }): Step<T> {
    const { cx, value, draft, position } = step
    return {
      value,
      position,
      receipt: (kind, id) => {
        const entry = draft.pending.get(`${kind.stream}/${id}`)
        const row = entry
          ? standing(entry, draft, position)
          : this.#states.read(cx.instance, kind, id)
        return receiptOf(id, row)
      },
    }
  }
}

/** What one attempt of a step has decided so far, stream by stream. */
type Drafting = { readonly now: number; readonly pending: Map<string, Pending> }

/** A stream as a step sees it. */
type Pending = {
  readonly kind: AnyAggregate
  readonly id: string
  readonly row: StateRow
  state: unknown
  owner: string
  readonly drafts: { readonly draft: AnyDraft; readonly event: NewEvent }[]
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
  return {
    instance: cx.instance,
    stream: entry.kind.stream,
    id: entry.id,
    version: entry.row.version + entry.drafts.length + 1,
    type: draft.type,
    revision: revisionOf(entry.kind, draft.type),
    data: draft.data,
    private: draft.private ?? null,
    time: now,
    editor:
      caller.kind === "user"
        ? { user: caller.userId, client: caller.clientId }
        : { user: caller.kind === "system" ? caller.name : "", client: "" },
    owner: entry.owner,
    correlation: cx.requestId,
    erase: draft.erase ?? null,
  }
}

function stepOf(cx: Cx, { now, pending }: Drafting): Append {
  const expect: Expectation[] = []
  const events: NewEvent[] = []
  const claims: ClaimRequest[] = []
  const folded: Folded[] = []
  for (const { kind, id, row, state, owner, drafts } of pending.values()) {
    const { stream } = kind
    expect.push({ stream, id, version: row.version })
    if (drafts.length > 0) {
      const version = row.version + drafts.length
      const created = row.version === 0 ? now : row.created
      folded.push({ stream, id, version, state, created, owner })
    }
    for (const { draft, event } of drafts) {
      events.push(event)
      claims.push(...claimsOf(kind, id, draft))
    }
  }
  // A key that one part of the step releases and another takes must be free when it is taken.
  claims.sort((a, b) => Number("take" in a) - Number("take" in b))
  const idTime = cx.ids.newest()
  return { instance: cx.instance, time: now, expect, events, claims, folded, idTime }
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

function alreadyTaken(claim: ClaimChange): Fault {
  if (!("taken" in claim)) throw new Error("a release can't be refused")
  return new Fault("already_exists", claim.taken.id, claim.taken.message)
}

function receiptOf(id: string, row: StateRow): Receipt {
  const { version, position, created, changed, owner } = row
  return { id, version, position, created, changed, owner }
}
