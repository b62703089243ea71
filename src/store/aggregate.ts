import type { Call } from "../kernel/context.ts"
import type { AnyDraft, AnyEvent, Draft, Erasure, PersistedEvent, Receipt } from "./event.ts"
import type { Statement, Values } from "./view/statement.ts"

/**
 * How long streams are kept: always, for a configured time since their last event, or until the
 * expiry in their state. A stream is removed completely, with its rows; see the pruner.
 */
export type Retention = "forever" | "audit" | "transient"

/** Converts a payload from revision n to n + 1; pure. */
export type Upcaster = (
  data: Record<string, unknown>,
  secret: Record<string, unknown> | null,
) => { data: Record<string, unknown>; private: Record<string, unknown> | null }

/**
 * Converts a payload from the newest revision to the previous one; pure. `evolve` must produce the
 * same state from both.
 */
export type Downcaster = Upcaster

type Evolve<E extends AnyEvent, State> = {
  readonly [Type in E["type"]]: (
    state: State,
    event: FoldedEvent<Extract<E, { type: Type }>>,
  ) => State
}

/**
 * The part of an event that `evolve` may use: decisions fold their events before these have a
 * position in the log.
 */
type FoldedEvent<E extends AnyEvent> = Omit<PersistedEvent<E>, "position"> & {
  readonly erase?: Erasure | null
}

/** Names the part of its stream that an event changes. */
export type StreamPart = (event: { readonly type: string; readonly data: object }) => string

/**
 * The event type without its last word: "project.role" of "project.role.changed". Activation is a
 * separate part, which no update overwrites.
 */
export const streamPartByType: StreamPart = ({ type }) =>
  /\.(?:(?:de|re)?activated|(?:un)?locked)$/.test(type)
    ? type
    : type.slice(0, type.lastIndexOf("."))

/** The same for streams with several similar items, identified by a field of the data. */
export const streamPartByKey =
  (key: string): StreamPart =>
  (event) =>
    `${streamPartByType(event)}/${Reflect.get(event.data, key)}`

export type AggregateSpec<E extends AnyEvent, State> = {
  /** The stream name; the first part of most of its event types. */
  readonly stream: string
  readonly retention?: Retention
  /**
   * When a transient stream may be removed, in ms UTC, from its state; undefined: not yet. Pure;
   * required for transient streams and not allowed for others.
   */
  readonly expires?: (state: State) => number | undefined
  /** Increment it when `evolve` or `expires` changes: the next start folds all streams again. */
  readonly revision?: number
  /**
   * The part of the stream that an event changes; changes to different parts don't conflict. By
   * default the type without its last word: a change of the name doesn't conflict with one of the
   * address.
   */
  readonly part?: StreamPart
  /** The state before the first event. */
  readonly initial: State
  /** One pure branch for every event type; a missing one does not compile. */
  readonly evolve: Evolve<E, State>
  /** Upcasters by event type; the n-th converts revision n + 1 to n + 2. */
  readonly upcasters?: { readonly [Type in E["type"]]?: readonly Upcaster[] }
  /**
   * By event type, for events that must be written while nodes of the previous version share the
   * log: without one, the newest revision is rejected until all nodes can read it.
   */
  readonly downcasters?: { readonly [Type in E["type"]]?: Downcaster }
}

/**
 * The inputs of a decision: its call, a fixed time, and other aggregates. Everything it reads
 * becomes part of the transaction's expected versions, so that nothing it relies on can have
 * changed.
 */
export type DecisionContext = Omit<Call, "clock"> & {
  /** Milliseconds UTC; the time of the new events. */
  readonly now: number
  readonly state: <E extends AnyEvent, State>(kind: Aggregate<E, State>, id: string) => State
  /** The organization that owns a stream; empty if it doesn't exist or has none. */
  readonly owner: (kind: AnyAggregate, id: string) => string
  /**
   * The holder of a unique key, if any. Only a claim in a draft guarantees that the key stays free.
   */
  readonly holder: (kind: string, key: string) => { stream: string; id: string } | undefined
  /**
   * Rows of views, as of before the transaction. They don't become part of the expected versions,
   * so a decision that relies on them must also read the states of the streams that they identify.
   */
  readonly rows: <Row>(query: Statement<Row>, values?: Values) => readonly Row[]
}

/** A transaction in progress. Its states include the events it has appended. */
export type Transaction = DecisionContext & {
  /**
   * Declares that a stream is empty, which saves a lookup: its ID was generated in this
   * transaction, which must append to it. If the ID is already in use, the transaction is decided
   * again with the stored state.
   */
  readonly begin: (kind: AnyAggregate, id: string) => void
  /** `owner` is only used for the first event of a stream. */
  readonly append: (
    kind: AnyAggregate,
    id: string,
    drafts: readonly AnyDraft[],
    owner?: string,
  ) => void
}

export type TransactionResult<T> = {
  readonly value: T
  /** The log position that a response must contain so that every node can serve it. */
  readonly position: number
  readonly receipt: (kind: AnyAggregate, id: string) => Receipt
}

/** A call that can append events: the context of a command. */
export type CommandContext = Call & {
  readonly store: {
    readonly transact: <T>(
      cx: CommandContext,
      decide: (tx: Transaction) => T,
    ) => Promise<TransactionResult<T>>
  }
}

/**
 * A decision: pure and synchronous; returns the events to append, in order. `id` is the stream's
 * ID, for lookups in other aggregates.
 */
export type Decide<E extends AnyEvent, State, Input> = (
  state: State,
  input: Input,
  cx: DecisionContext,
  id: string,
) => readonly Draft<E>[]

/**
 * A command bound to its decision. Called directly, it runs in its own transaction; `within` makes
 * it part of a larger one, so that several decisions succeed or fail together.
 */
export type Command<Input> = {
  (cx: CommandContext, id: string, ...input: CommandArguments<Input>): Promise<Receipt>
  readonly within: (tx: Transaction, id: string, ...input: CommandArguments<Input>) => void
}
type CommandArguments<Input> = undefined extends Input ? [input?: Input] : [input: Input]

export type Aggregate<E extends AnyEvent, State> = AggregateSpec<E, State> & {
  readonly retention: Retention
  readonly command: <Input = undefined>(decide: Decide<E, State, Input>) => Command<Input>
}

/** An aggregate without its type parameters, for the store's registry. */
export type AnyAggregate = {
  readonly stream: string
  readonly retention: Retention
  readonly revision?: number
  readonly expires?: (state: never) => number | undefined
  readonly part?: StreamPart
  readonly initial: unknown
  readonly evolve: object
  readonly upcasters?: object
  readonly downcasters?: object
  readonly consequences?: readonly object[]
  /** The exports of its module's history.ts; loaded when a history is first shown. */
  readonly history?: () => Promise<object>
}

/** Declares an aggregate: its stream, events and state, and how events change the state. */
export function aggregate<E extends AnyEvent, State>(
  spec: AggregateSpec<E, State>,
): Aggregate<E, State> {
  const { retention = "forever" } = spec
  if ((retention === "transient") !== (spec.expires !== undefined)) {
    throw new Error(`streams of ${spec.stream}: transient aggregates, and only these, need expires`)
  }
  const self: Aggregate<E, State> = {
    ...spec,
    retention,
    command: (decide) => commandOf(self, decide),
  }
  return self
}

function commandOf<E extends AnyEvent, State, Input>(
  kind: Aggregate<E, State>,
  decide: Decide<E, State, Input>,
): Command<Input> {
  const within = (tx: Transaction, id: string, ...[input]: CommandArguments<Input>) => {
    // Reasons for the casts: an optional input is undefined where Input allows it; and Draft<E>
    // is a conditional type of which the store sees only what all drafts share.
    const drafts = decide(tx.state(kind, id), input as Input, tx, id) as readonly AnyDraft[]
    tx.append(kind, id, drafts)
  }
  const call = async (cx: CommandContext, id: string, ...input: CommandArguments<Input>) => {
    const step = await cx.store.transact(cx, (tx) => within(tx, id, ...input))
    return step.receipt(kind, id)
  }
  return Object.assign(call, { within })
}
