import type { Database } from "bun:sqlite"
import type { Call } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import { traced } from "../runtime/trace.ts"
import type { Aggregate, AnyAggregate, Deciding, Step, Transaction } from "./aggregate.ts"
import type { AnyEvent, Receipt } from "./event.ts"
import { type EventQuery, eventsOf } from "./log/events.ts"
import type { Log, LogEvent, NewEvent, Pace } from "./log/log.ts"
import { type Horizon, numberAt } from "./retention/horizon.ts"
import type { Reader } from "./search/reader.ts"
import type { Read, Reading } from "./search/reader-request.ts"
import { refuseStale, refuseUnwritten } from "./state/expected.ts"
import { rehearsalOf } from "./state/rehearsal.ts"
import type { StateRow, States } from "./state/state.ts"
import {
  appendOf,
  type Drafting,
  receiptOf,
  rowAfter,
  type StepReading,
  takenError,
  transactionOf,
} from "./step.ts"
import type { Node, ReadingWorker, StoreParts, Together, Upkeep } from "./store-parts.ts"
import type { Index, TextTable } from "./view/indexes.ts"
import type { Statement, Values } from "./view/statement.ts"
import type { ReadViews } from "./view/views.ts"

/** A call that may reach the store; what every command and query is handed. */
export type Cx = Call & { readonly store: Store }

/** Makes calls of the process itself, by a name, on the instance of an event. */
export type Calls = (instance: string, name: string) => Cx

/**
 * What else events change, by their types: appended in the same step, so that nobody sees one
 * without the other. The editor of what is appended is the server, by a name, not the caller.
 */
export type Consequences = {
  readonly name: string
  readonly on: Readonly<Record<string, Consequence>>
}

/**
 * What an event of the type causes; undefined where it is nothing. `cx` reads what is written
 * already; `tx` has the event, too.
 */
export type Consequence = (
  event: NewEvent,
) => (({ cx, tx }: { readonly cx: Cx; readonly tx: Transaction }) => void) | undefined

/** What an aggregate declares; undefined for nothing. */
const consequencesOf = (kind: AnyAggregate | undefined): readonly Consequences[] | undefined =>
  // Reason for the cast: an aggregate knows nothing of the store that these read.
  kind?.consequences as readonly Consequences[] | undefined

const attemptsMax = 4
/**
 * On several nodes or workers, each of those who change the same thing at once may come before, and
 * only one of them wins each time.
 */
const attemptsOfNodesMax = 64

type Asking = Pick<Call, "clock" | "deadline" | "instance" | "caller">

/** However much the people of one organisation search at once, others wait for one of it each. */
const lineOf = ({ instance, caller }: Pick<Asking, "instance" | "caller">): string =>
  caller.kind === "user" ? `${instance}/${caller.orgId}` : ""

/** The event log, the state rows and the views of one data folder. */
export class Store implements Upkeep {
  readonly log: Log
  /** The connection itself, for the store's own parts, backups and tests. */
  readonly database: Database
  readonly prune: Upkeep["prune"]
  readonly purge: Upkeep["purge"]
  readonly scrub: Upkeep["scrub"]
  readonly shrink: Upkeep["shrink"]
  readonly exclusive: Upkeep["exclusive"]
  readonly probe: Upkeep["probe"]
  readonly inspect: Upkeep["inspect"]
  readonly close: Upkeep["close"]
  /**
   * What callers are told of something that was thrown: a fault as it is, and what the disk did not
   * do in plain words; undefined for bugs. Readiness learns of the disk from here, too.
   */
  readonly faultOf: (cause: unknown) => Fault | undefined
  /** Whether something of so long ago counts no more though its time seems to be to come. */
  readonly isForgotten: Horizon["isForgotten"]
  readonly #states: States
  readonly #views: ReadViews
  readonly #reader: Reader
  readonly #flush: () => void
  readonly #parts: StoreParts
  /** Undefined where this is the only one, and the log is its own. */
  readonly node: Node | undefined
  /** Undefined where this process writes. */
  readonly worker: ReadingWorker | undefined
  /** Undefined where no other process answers from the same file. */
  readonly together: Together | undefined
  #check: StoreParts["check"]
  #undone = 0
  readonly #reading: StepReading

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
   * Decides and appends, all or nothing, and resolves when it is on disk; so does a decision that
   * appends nothing or faults, because what it read must not vanish. Decides again when what it
   * saw has changed. Faults with `already_exists` when a claim is taken, with `aborted` after four
   * conflicts, or many where others write, too.
   */
  transact<T>(cx: Deciding, decide: (tx: Transaction) => T): Promise<Step<T>> {
    return traced("store", () => this.#transact(cx, decide, "now"))
  }

  /**
   * The same, but resolves before it is on disk: for what costs nobody more than to begin again
   * where a machine stops within a hundredth of a second. It shares the next commit of others, and
   * whatever is decided on it is on disk with it. Where other processes read, it is `transact`.
   */
  transactSoon<T>(cx: Deciding, decide: (tx: Transaction) => T): Promise<Step<T>> {
    const isAlone = !this.node && !this.together
    return traced("store", () => this.#transact(cx, decide, isAlone ? "later" : "now"))
  }

  async #transact<T>(cx: Deciding, decide: (tx: Transaction) => T, pace: Pace): Promise<Step<T>> {
    const decidesHere = !this.node && !this.worker
    const most = decidesHere ? attemptsMax : attemptsOfNodesMax
    let isSure = decidesHere
    const { expectedVersion: expected } = cx
    if (expected !== undefined) await refuseUnwritten(this.log, expected)
    for (let attempt = 0; attempt < most; attempt++) {
      const seen = this.log.writes()
      const draft: Drafting = {
        now: cx.clock.now(),
        pending: new Map(),
        isAnother: attempt > 0,
      }
      let value: T
      try {
        const tx = transactionOf(this.#reading, cx, draft)
        this.#check?.(tx)
        value = decide(tx)
        this.#conclude(cx, draft)
      } catch (refusal) {
        await this.log.settle()
        throw refusal
      }
      const step = appendOf(cx, draft)
      if (expected !== undefined) await refuseStale(this.log, cx, { ...draft, expected })
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
      if (isSure) throw takenError(result.claim)
      // Another node took it after this one had looked; whoever looks now sees that.
      isSure = true
    }
    throw new Fault(
      "aborted",
      "store.conflict",
      "somebody else changed the same thing at the same moment; please try again",
    )
  }

  /**
   * This store as it is now, where steps can be tried: what they decide is seen by those after
   * them, and gone with it. Lists and rows of views show none of it. `tried` hears of each step.
   */
  rehearse(tried: (events: readonly NewEvent[]) => void = () => {}): Store {
    return new Store({ ...this.#parts, ...rehearsalOf(this.#parts, tried) })
  }

  /** This store, whose next step happens only where `check` does not fault on what it sees. */
  checking(check: (tx: Transaction) => void): Store {
    return new Store({ ...this.#parts, check })
  }

  /**
   * Up to when ids may have been made, in ms UTC; 0 where there are none. New ones must lie after
   * it, also where the clock was ahead once. Databases from before it was kept have their events.
   */
  newest(): number {
    if (this.node) return this.node.idTime
    const event = this.database
      .query<{ time: number }, []>("SELECT time FROM event ORDER BY position DESC LIMIT 1")
      .get()
    return Math.max(event?.time ?? 0, numberAt(this.database, "ids"))
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
  async read<Row>(cx: Asking, reading: Reading): Promise<Read<Row>> {
    this.#flush()
    const generation = this.#views.generation()
    const isStill = () => generation === this.#views.generation()
    const how = {
      line: lineOf(cx),
      physical: (query: Statement) => this.#views.sql(query),
      tables: () => this.#views.texts(),
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

  /** What happened on the instance and is like that, also in streams that are gone by now. */
  async events(
    cx: Pick<Call, "instance" | "clock" | "deadline">,
    query: EventQuery,
  ): Promise<readonly LogEvent[]> {
    this.#flush()
    return await eventsOf({ log: this.log, reader: this.#reader }, cx, query)
  }

  /** The kinds of streams that there are, and the types of their events. */
  eventTypes(): { readonly streams: readonly string[]; readonly types: readonly string[] } {
    return this.#states.names
  }

  /** The aggregate whose streams have this name; undefined where there is none. */
  kind(stream: string): AnyAggregate | undefined {
    return this.#states.kind(stream)
  }

  /** What an event of the log makes of the state of its stream. */
  fold(state: unknown, event: LogEvent): unknown {
    return this.#states.fold(state, event)
  }

  /** Grows when an event is written that changes what a statement finds, or is undone. */
  stamp(sql: string): number {
    return this.log.changesOf(this.#views.typesIn(sql))
  }

  /** What an index may have of a table's texts; undefined where nobody looks for any. */
  texts(table: string): TextTable | undefined {
    return this.#views.texts()[table]
  }

  /** The key of a view's table, after the instance. */
  keyOf(table: string): string | undefined {
    return this.#views.keyOf(table)
  }

  /**
   * Nothing, or what resolves when all that may have been read here is seen by other processes that
   * read the file: whoever is told it may ask one of them next. Rejects where it was undone.
   */
  pending(): Promise<void> | undefined {
    return this.together && !this.worker ? this.#parts.pending?.() : undefined
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

  /** Bytes that a stream has kept by this name; undefined where they are gone. */
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

  /** Makes a view anew, beside its rows, which serve meanwhile; false where there is none. */
  rebuild(name: string): boolean {
    return this.#views.again(name)
  }

  /** Views that are being rebuilt; they serve their old rows meanwhile. */
  rebuilding(): readonly string[] {
    return this.#views.rebuilding()
  }

  /** Resolves when no view is being rebuilt any more. */
  rebuilt(): Promise<void> {
    return this.#views.rebuilt()
  }

  /** Ends the thread that answers searches, once none waits; the next one starts another. */
  endIdleThread(): Promise<void> {
    return this.#reader.endIdleThread()
  }

  /** Appends what else is changed by the events that a step has decided. */
  #conclude(cx: Deciding, draft: Drafting): void {
    for (const { kind, drafts } of draft.pending.values()) {
      const consequences = consequencesOf(this.#states.kind(kind.stream))
      if (!consequences) continue
      const caused = drafts.flatMap(({ event }) =>
        consequences.map(({ name, on }) => ({ name, append: on[event.type]?.(event) })),
      )
      for (const { name, append } of caused) {
        if (!append) continue
        const own: Cx = { ...cx, store: this, caller: { kind: "system", name } }
        append({ cx: own, tx: transactionOf(this.#reading, own, draft) })
      }
    }
  }

  /** From memory where it is there. */
  #row(instance: string, kind: AnyAggregate, id: string): StateRow {
    const undone = this.log.changes() - this.log.durable()
    if (undone !== this.#undone) this.#states.forget()
    this.#undone = undone
    return this.#states.recall(instance, kind, id)
  }

  #done<T>(step: { cx: Call; value: T; draft: Drafting; position: number }): Step<T> {
    const { cx, value, draft, position } = step
    return {
      value,
      position,
      receipt: (kind, id) => {
        const row = rowAfter(draft, kind, { id, position })
        return receiptOf(id, row ?? this.#states.read(cx.instance, kind, id))
      },
    }
  }
}
