import type { Database } from "bun:sqlite"
import type { Call } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import { trace } from "../runtime/trace.ts"
import type {
  Aggregate,
  AnyAggregate,
  CommandContext,
  Transaction,
  TransactionResult,
} from "./aggregate.ts"
import type { AnyEvent, Receipt } from "./event.ts"
import { type EventQuery, searchEvents } from "./log/events.ts"
import type { CommitPace, Log, LogEvent, NewEvent } from "./log/log.ts"
import { type Horizon, readNumber } from "./retention/horizon.ts"
import type { Reader } from "./search/reader.ts"
import type { SearchRequest, SearchRows } from "./search/reader-request.ts"
import { requireReachedPosition, requireUnchanged } from "./state/expected.ts"
import { createRehearsal } from "./state/rehearsal.ts"
import type { StateRow, States } from "./state/state.ts"
import type {
  Node,
  ReadingWorker,
  SharedProcesses,
  StoreMaintenance,
  StoreParts,
} from "./store-parts.ts"
import {
  createAppend,
  createReceipt,
  createTransaction,
  rowAfter,
  type TransactionDraft,
  type TransactionReads,
  takenError,
} from "./transaction.ts"
import type { Index, TextTable } from "./view/indexes.ts"
import type { Statement, Values } from "./view/statement.ts"
import type { ReadViews } from "./view/views.ts"

/** A call with access to the store; the context of every command and query. */
export type Cx = Call & { readonly store: Store }

/** Creates calls of the process itself, under a name, in the instance of an event. */
export type CallFactory = (instance: string, name: string) => Cx

/**
 * Further changes that events cause, by event type: appended in the same transaction, so that both
 * are always visible together. Their editor is the server, under a name, not the caller.
 */
export type Consequences = {
  readonly name: string
  readonly on: Readonly<Record<string, Consequence>>
}

/**
 * What an event of the type causes; undefined for nothing. `cx` reads committed data; `tx` also has
 * the event.
 */
export type Consequence = (
  event: NewEvent,
) => (({ cx, tx }: { readonly cx: Cx; readonly tx: Transaction }) => void) | undefined

/** The consequences that an aggregate declares, if any. */
const consequencesOf = (kind: AnyAggregate | undefined): readonly Consequences[] | undefined =>
  // Reason for the cast: the aggregate's declaration doesn't know the types of the store.
  kind?.consequences as readonly Consequences[] | undefined

const maxAttempts = 4
/**
 * With several nodes or workers, each concurrent writer of the same resource may be first, and only
 * one succeeds each time.
 */
const maxAttemptsOfNodes = 64

type SearchContext = Pick<Call, "clock" | "deadline" | "instance" | "caller">

/** One line per organization, so that many searches of one organization don't block others. */
const queueLineOf = ({ instance, caller }: Pick<SearchContext, "instance" | "caller">): string =>
  caller.kind === "user" ? `${instance}/${caller.orgId}` : ""

/** The event log, the states and the views of one data directory. */
export class Store implements StoreMaintenance {
  readonly log: Log
  /** The connection, for the store's own parts, backups and tests. */
  readonly database: Database
  readonly prune: StoreMaintenance["prune"]
  readonly purge: StoreMaintenance["purge"]
  readonly scrub: StoreMaintenance["scrub"]
  readonly shrink: StoreMaintenance["shrink"]
  readonly exclusive: StoreMaintenance["exclusive"]
  readonly probe: StoreMaintenance["probe"]
  readonly inspect: StoreMaintenance["inspect"]
  readonly close: StoreMaintenance["close"]
  /**
   * The fault that callers receive for an exception: a fault itself, or a disk failure in plain
   * words; undefined for bugs. Also reports disk failures to readiness.
   */
  readonly faultOf: (cause: unknown) => Fault | undefined
  /** Whether something issued at a time is invalid despite its expiry; see `Horizon`. */
  readonly isForgotten: Horizon["isForgotten"]
  readonly #states: States
  readonly #views: ReadViews
  readonly #reader: Reader
  readonly #flush: () => void
  readonly #parts: StoreParts
  /** Undefined for a single node with its own log. */
  readonly node: Node | undefined
  /** Undefined in the process that writes. */
  readonly worker: ReadingWorker | undefined
  /** Undefined if no other process serves from the same file. */
  readonly together: SharedProcesses | undefined
  #check: StoreParts["check"]
  #undone = 0
  readonly #reading: TransactionReads

  constructor(parts: StoreParts) {
    this.#parts = parts
    this.#check = parts.check
    this.log = parts.log
    this.database = parts.database
    this.prune = parts.prune
    this.purge = parts.purge
    this.scrub = parts.scrub
    this.shrink = parts.shrink
    this.exclusive = parts.exclusive
    this.probe = parts.probe
    this.inspect = parts.inspect
    this.close = parts.close
    this.faultOf = parts.faultOf
    this.isForgotten = parts.isForgotten
    this.#states = parts.states
    this.#views = parts.views
    this.#reader = parts.reader
    this.#flush = parts.flush
    this.node = parts.node
    this.worker = parts.worker
    this.together = parts.worker?.writer ?? parts.together
    this.#reading = {
      fold: parts.states.fold,
      holder: parts.log.holder,
      rows: parts.views.all,
      row: (instance, kind, id) => this.#row(instance, kind, id),
    }
  }

  /**
   * Decides and appends, completely or not at all, and resolves when the transaction is synced;
   * this also applies to a decision that appends nothing or throws, because what it has read must
   * be durable. Decides again after a conflict. Throws `already_exists` if a claim is taken, and
   * `aborted` after four conflicts, or more with other writers.
   */
  transact<T>(cx: CommandContext, decide: (tx: Transaction) => T): Promise<TransactionResult<T>> {
    return trace("store", () => this.#transact(cx, decide, "now"))
  }

  /**
   * The same, but resolves before the sync: for data that is cheap to lose if the machine stops
   * within a hundredth of a second. It shares the next commit, and everything decided on it is
   * synced with it. If other processes read the file, it is the same as `transact`.
   */
  transactSoon<T>(
    cx: CommandContext,
    decide: (tx: Transaction) => T,
  ): Promise<TransactionResult<T>> {
    const isAlone = !this.node && !this.together
    return trace("store", () => this.#transact(cx, decide, isAlone ? "later" : "now"))
  }

  async #transact<T>(
    cx: CommandContext,
    decide: (tx: Transaction) => T,
    pace: CommitPace,
  ): Promise<TransactionResult<T>> {
    const decidesHere = !this.node && !this.worker
    const attemptLimit = decidesHere ? maxAttempts : maxAttemptsOfNodes
    let isCurrent = decidesHere
    const { expectedVersion: expected } = cx
    if (expected !== undefined) await requireReachedPosition(this.log, expected)
    for (let attempt = 0; attempt < attemptLimit; attempt++) {
      const seen = this.log.writes()
      const draft: TransactionDraft = {
        now: cx.clock.now(),
        pending: new Map(),
        isRetry: attempt > 0,
      }
      let value: T
      try {
        const tx = createTransaction(this.#reading, cx, draft)
        this.#check?.(tx)
        value = decide(tx)
        this.#conclude(cx, draft)
      } catch (refusal) {
        await this.log.settle()
        throw refusal
      }
      const step = createAppend(cx, draft)
      if (expected !== undefined) await requireUnchanged(this.log, cx, { ...draft, expected })
      if (step.events.length === 0) {
        await this.log.settle()
        this.#check = undefined
        return this.#done({ cx, value, draft, position: this.log.durable() })
      }
      const result = await this.log.append({ ...step, seen, pace })
      if (result.kind === "appended") {
        this.#check = undefined
        if (cx.written) cx.written.position = result.position
        return this.#done({ cx, value, draft, position: result.position })
      }
      if (result.kind !== "taken") continue
      if (isCurrent) throw takenError(result.claim)
      // Another node took the claim after this one had checked; the next attempt sees it.
      isCurrent = true
    }
    throw new Fault(
      "aborted",
      "store.conflict",
      "another change was made at the same time; try again",
    )
  }

  /**
   * A copy of this store for dry runs: later transactions see earlier ones, and nothing is written.
   * Lists and view rows don't show them. `tried` receives the events of each.
   */
  rehearse(onEvents: (events: readonly NewEvent[]) => void = () => {}): Store {
    return new Store({ ...this.#parts, ...createRehearsal(this.#parts, onEvents) })
  }

  /** A copy of this store whose next transaction first runs `check`, which can throw. */
  checking(check: (tx: Transaction) => void): Store {
    return new Store({ ...this.#parts, check })
  }

  /**
   * The time up to which IDs may have been generated, in ms UTC; 0 if there are none. New IDs must
   * be later, even if the clock was ahead before. Older databases without a stored value use their
   * events.
   */
  newest(): number {
    if (this.node) return this.node.idTime
    const event = this.database
      .query<{ time: number }, []>("SELECT time FROM event ORDER BY position DESC LIMIT 1")
      .get()
    return Math.max(event?.time ?? 0, readNumber(this.database, "ids"))
  }

  /** One row of a view, or undefined. */
  get<Row>(cx: Pick<Call, "instance">, query: Statement<Row>, values?: Values): Row | undefined {
    return this.#views.get(query, { instance: cx.instance }, values)
  }

  /** All rows of a query; searches go through `search`, which scopes and pages them. */
  all<Row>(cx: Pick<Call, "instance">, query: Statement<Row>, values?: Values): readonly Row[] {
    return this.#views.all(query, { instance: cx.instance }, values)
  }

  /** The index with the rows of a table in the order of a column, if any. */
  index(table: string, column: string): Index | undefined {
    return this.#views.index(table, column)
  }

  /**
   * Runs a search in the reader thread, including everything written before this call; what it has
   * read is synced before it returns.
   */
  async read<Row>(cx: SearchContext, reading: SearchRequest): Promise<SearchRows<Row>> {
    this.#flush()
    const generation = this.#views.generation()
    const isStill = () => generation === this.#views.generation()
    const options = {
      line: queueLineOf(cx),
      physical: (query: Statement) => this.#views.sql(query),
      tables: () => this.#views.texts(),
      isLate: () => cx.deadline !== undefined && cx.clock.now() >= cx.deadline,
    }
    const answer = await this.#reader.read<Row>(reading, options).catch((cause: unknown) => {
      if (isStill()) throw cause
    })
    // Tables that were replaced meanwhile may be empty or missing.
    if (answer === undefined || !isStill()) return this.read(cx, reading)
    await this.log.settle()
    return answer
  }

  /** Searches the events of the instance, including those of removed streams. */
  async events(
    cx: Pick<Call, "instance" | "clock" | "deadline">,
    query: EventQuery,
  ): Promise<readonly LogEvent[]> {
    this.#flush()
    return await searchEvents({ log: this.log, reader: this.#reader }, cx, query)
  }

  /** All streams, and all event types. */
  eventTypes(): { readonly streams: readonly string[]; readonly types: readonly string[] } {
    return this.#states.names
  }

  /** The aggregate of a stream name, if any. */
  kind(stream: string): AnyAggregate | undefined {
    return this.#states.kind(stream)
  }

  /** The state of a stream after an event. */
  fold(state: unknown, event: LogEvent): unknown {
    return this.#states.fold(state, event)
  }

  /** Increases when an event that affects the statement's tables is written or rolled back. */
  stamp(sql: string): number {
    return this.log.changesOf(this.#views.typesIn(sql))
  }

  /** The text index settings of a table, if any. */
  texts(table: string): TextTable | undefined {
    return this.#views.texts()[table]
  }

  /** The key of a view's table, after the instance. */
  keyOf(table: string): string | undefined {
    return this.#views.keyOf(table)
  }

  /**
   * Resolves when everything read here is visible to other processes, which may serve the client's
   * next request; undefined if it already is. Rejects after a rollback.
   */
  pending(): Promise<void> | undefined {
    return this.together && !this.worker ? this.#parts.pending?.() : undefined
  }

  /** The folded state of a stream, for queries; decisions use their own. */
  state<E extends AnyEvent, State>(
    cx: Pick<Call, "instance">,
    kind: Aggregate<E, State>,
    id: string,
  ): State {
    // Reason for the cast: the registry finds aggregates by stream name, so the types match.
    return this.#row(cx.instance, kind, id).state as State
  }

  /** The receipt of a stream, or undefined if it doesn't exist. */
  receipt(cx: Pick<Call, "instance">, kind: AnyAggregate, id: string): Receipt | undefined {
    const row = this.#row(cx.instance, kind, id)
    return row.version === 0 ? undefined : createReceipt(id, row)
  }

  /** A blob of a stream by name; undefined if it is removed. */
  blob(
    { instance }: Pick<Call, "instance">,
    { stream }: AnyAggregate,
    { id, name }: { readonly id: string; readonly name: string },
  ): Uint8Array<ArrayBuffer> | undefined {
    return this.log.blob({ instance, stream, id, name })
  }

  /** The names of all views. */
  views(): readonly string[] {
    return this.#views.names
  }

  /**
   * Rebuilds a view in the background, while its old rows are still served; false if it doesn't
   * exist.
   */
  rebuild(name: string): boolean {
    return this.#views.again(name)
  }

  /** Views that are being rebuilt; they serve their old rows meanwhile. */
  rebuilding(): readonly string[] {
    return this.#views.rebuilding()
  }

  /** Resolves when no view is being rebuilt. */
  rebuilt(): Promise<void> {
    return this.#views.rebuilt()
  }

  /** Ends the reader thread once no search is waiting; the next search starts another. */
  endIdleThread(): Promise<void> {
    return this.#reader.endIdleThread()
  }

  /** Appends the consequences of the transaction's events. */
  #conclude(cx: CommandContext, draft: TransactionDraft): void {
    for (const { kind, drafts } of draft.pending.values()) {
      const consequences = consequencesOf(this.#states.kind(kind.stream))
      if (!consequences) continue
      const effects = drafts.flatMap(({ event }) =>
        consequences.map(({ name, on }) => ({ name, append: on[event.type]?.(event) })),
      )
      for (const { name, append } of effects) {
        if (!append) continue
        const own: Cx = { ...cx, store: this, caller: { kind: "system", name } }
        append({ cx: own, tx: createTransaction(this.#reading, own, draft) })
      }
    }
  }

  /** From the cache, if possible. */
  #row(instance: string, kind: AnyAggregate, id: string): StateRow {
    const undone = this.log.changes() - this.log.durable()
    if (undone !== this.#undone) this.#states.clearCache()
    this.#undone = undone
    return this.#states.readCached(instance, kind, id)
  }

  #done<T>(step: {
    cx: Call
    value: T
    draft: TransactionDraft
    position: number
  }): TransactionResult<T> {
    const { cx, value, draft, position } = step
    return {
      value,
      position,
      receipt: (kind, id) => {
        const row = rowAfter(draft, kind, { id, position })
        return createReceipt(id, row ?? this.#states.read(cx.instance, kind, id))
      },
    }
  }
}
