import type { Call } from "../kernel/context.ts"
import type { AnyDraft, AnyEvent, Draft, Erasure, Receipt, Recorded } from "./event.ts"
import type { Statement, Values } from "./view/statement.ts"

/**
 * How long streams of a type are kept: always, for a configured time since their last event, or
 * until what their state says. A stream goes whole, with its rows; see the pruner.
 */
export type Retention = "forever" | "audit" | "transient"

/** Brings a payload of revision n to n + 1; pure. */
export type Upcaster = (
  data: Record<string, unknown>,
  secret: Record<string, unknown> | null,
) => { data: Record<string, unknown>; private: Record<string, unknown> | null }

/**
 * Brings a payload of the newest revision back to the one before; pure. `evolve` must make the same
 * state of both.
 */
export type Downcaster = Upcaster

type Evolve<E extends AnyEvent, State> = {
  readonly [Type in E["type"]]: (state: State, event: Folding<Extract<E, { type: Type }>>) => State
}

/** What a state may be made of: a decision folds its events before they have a place in the log. */
type Folding<E extends AnyEvent> = Omit<Recorded<E>, "position"> & {
  readonly erase?: Erasure | null
}

/** Names what of its stream an event is about. */
export type Part = (event: { readonly type: string; readonly data: object }) => string

/**
 * The type without what happened: "project.role" of "project.role.changed". Whether something is
 * active is a part by itself, which no update replaces.
 */
export const partByType: Part = ({ type }) =>
  /\.(?:(?:de|re)?activated|(?:un)?locked)$/.test(type)
    ? type
    : type.slice(0, type.lastIndexOf("."))

/** The same for streams that hold several things alike, which a field of the data tells apart. */
export const partByKey =
  (key: string): Part =>
  (event) =>
    `${partByType(event)}/${Reflect.get(event.data, key)}`

export type AggregateSpec<E extends AnyEvent, State> = {
  /** Name of the streams; the first part of most of its event types. */
  readonly stream: string
  readonly retention?: Retention
  /**
   * When a transient stream may go, in ms UTC, as its state says; undefined: not yet. Pure; they
   * all have one, and no others.
   */
  readonly expires?: (state: State) => number | undefined
  /** Raised when `evolve` or `expires` says something else: the next start folds all anew. */
  readonly revision?: number
  /**
   * What of the stream an event is about; events of different parts are not changes of the same.
   * Unless told, the type without its last word: a change of a name is none of an address.
   */
  readonly part?: Part
  /** The state before the first event. */
  readonly initial: State
  /** One pure branch for every event type; a missing one does not compile. */
  readonly evolve: Evolve<E, State>
  /** Upcasters by event type; the n-th brings revision n + 1 to n + 2. */
  readonly upcasters?: { readonly [Type in E["type"]]?: readonly Upcaster[] }
  /**
   * By event type, for events that must be written also while nodes of the version before share the
   * log: without one, the newest revision is refused until all nodes can read it.
   */
  readonly downcasters?: { readonly [Type in E["type"]]?: Downcaster }
}

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
  /**
   * Rows of views from before the step, which join no expectation: a decision that relies on them
   * reads the states of the streams that they name, too.
   */
  readonly rows: <Row>(query: Statement<Row>, values?: Values) => readonly Row[]
}

/** A step under way. Its states already show what it has appended. */
export type Transaction = Decision & {
  /**
   * Says that a stream has nothing yet, which saves the look whether it has: its id was made for
   * this very step, which then has to append to it. Where somebody has chosen that id before, the
   * step is decided again with what is there.
   */
  readonly begin: (kind: AnyAggregate, id: string) => void
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

/** A call that may append: what a command is handed. */
export type Deciding = Call & {
  readonly store: {
    readonly transact: <T>(cx: Deciding, decide: (tx: Transaction) => T) => Promise<Step<T>>
  }
}

/**
 * A decision: pure and synchronous; what it returns is appended, in order. `id` is that of the
 * stream, for who asks others about it.
 */
export type Decide<E extends AnyEvent, State, Input> = (
  state: State,
  input: Input,
  cx: Decision,
  id: string,
) => readonly Draft<E>[]

/**
 * An intent bound to its decision. Called, it is a step of its own; `within` makes it part of a
 * larger step, so that several decisions happen together or not at all.
 */
export type Command<Input> = {
  (cx: Deciding, id: string, ...input: Given<Input>): Promise<Receipt>
  readonly within: (tx: Transaction, id: string, ...input: Given<Input>) => void
}
type Given<Input> = undefined extends Input ? [input?: Input] : [input: Input]

export type Aggregate<E extends AnyEvent, State> = AggregateSpec<E, State> & {
  readonly retention: Retention
  readonly command: <Input = undefined>(decide: Decide<E, State, Input>) => Command<Input>
}

/** Any aggregate, its types forgotten; what the store's registry keeps. */
export type AnyAggregate = {
  readonly stream: string
  readonly retention: Retention
  readonly revision?: number
  readonly expires?: (state: never) => number | undefined
  readonly part?: Part
  readonly initial: unknown
  readonly evolve: object
  readonly upcasters?: object
  readonly downcasters?: object
  readonly consequences?: readonly object[]
  /** What history.ts of its module exports; read with the first history that is shown. */
  readonly history?: () => Promise<object>
}

/** Declares a kind of stream: its events, its state, and how the one becomes the other. */
export function aggregate<E extends AnyEvent, State>(
  spec: AggregateSpec<E, State>,
): Aggregate<E, State> {
  const { retention = "forever" } = spec
  if ((retention === "transient") !== (spec.expires !== undefined)) {
    throw new Error(`streams of ${spec.stream}: what is transient, and only that, says expires`)
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
  const within = (tx: Transaction, id: string, ...[input]: Given<Input>) => {
    // Reasons for the casts: an optional input is undefined where Input allows it; and Draft<E>
    // is a conditional type of which the store sees only what all drafts share.
    const drafts = decide(tx.state(kind, id), input as Input, tx, id) as readonly AnyDraft[]
    tx.append(kind, id, drafts)
  }
  const call = async (cx: Deciding, id: string, ...input: Given<Input>) => {
    const step = await cx.store.transact(cx, (tx) => within(tx, id, ...input))
    return step.receipt(kind, id)
  }
  return Object.assign(call, { within })
}
