import type { Aggregate, AnyAggregate } from "../aggregate.ts"
import type { AnyEvent, Recorded } from "../event.ts"
import type { Cx } from "../store.ts"

/** Why a change has no undo. */
export const reasons = {
  creation: "it began with this; delete it where it is no longer wanted",
  removal: "what was deleted is gone with all that hung from it",
  proof: "this is how somebody proves who they are, and only they can bring it about again",
  secret: "secrets and keys are shown once, and none comes back",
  address: "whether mail, messages and names reach somebody has to be shown anew",
  fact: "this only tells what happened, and nothing is to be taken back",
  operator: "it belongs to those who run the server",
  registration: "the application looks after this itself",
  file: "files are deleted where they are replaced",
  settings: "it says where secrets are sent; enter the settings with the secret again",
  cascade: "it followed from something else",
  parts: "what it was before is not kept whole",
  unsaid: "nothing was said before, and this can only be said otherwise",
  keys: "tokens may be signed with it already; make another key active instead",
  texts: "texts are set whole; enter the ones before, or reset them",
} as const

export type Reason = keyof typeof reasons

export const isReason = (answer: unknown): answer is Reason =>
  typeof answer === "string" && Object.hasOwn(reasons, answer)

/** A change, with what it was made of and what became of it. */
export type Change<E extends AnyEvent, State> = {
  readonly cx: Cx
  /** Of the stream. */
  readonly id: string
  /** The organization that owns the stream; empty for what the instance owns. */
  readonly owner: string
  readonly event: Recorded<E>
  /** Right before the event, right after it, and now. */
  readonly before: State
  readonly after: State
  readonly now: State
  /** For `unkept` events: the event before it of the same key. */
  readonly earlier: Recorded<AnyEvent> | undefined
}

/** "UpdateProject" of the history's service, or in full: "core.project.v2.ProjectService/…". */
export type OperationName = Capitalize<string> | `core.${string}`

/**
 * An operation that undoes a change, with the fields of its request beside those of `target`.
 * Values become what the request has by that name: see `requestOf` in domain/history. `loose`: not
 * all fields are as before afterwards, for example because a default is stored as a value.
 */
export type UndoRequest = readonly [operation: OperationName, fields: object, exactness?: "loose"]

/**
 * What undoes an event: an operation that receives the former values of the fields that the event
 * changed, an operation with a request of its own, or the reason why nothing does.
 */
export type Undo<E extends AnyEvent, State> =
  | Reason
  | OperationName
  | ((change: Change<E, State>) => Reason | UndoRequest)

/** Types of events; `*` is any text. */
type Pattern = `${string}*${string}`

/**
 * What the history shows of a kind of stream, and how its events are undone. Paths of a state are
 * dotted; `*` is any key.
 */
export type StreamHistory<E extends AnyEvent, State> = {
  /** From private parts of events: shown to callers who can read the thing itself. */
  readonly personal?: readonly string[]
  /** Versions, times and authors that change with every event. */
  readonly hidden?: readonly string[]
  /** Maps of which only the keys are shown. */
  readonly sets?: readonly string[]
  /**
   * The service, and the name of the resource in it: "core.project.v2.ProjectService/*Project". The
   * undo of events that neither `undo` nor `noUndo` has is derived: the last word of their type
   * selects the verb, see `inverses` in domain/history.
   */
  readonly operations?: `core.${string}Service/*${string}`
  /** The fields that name the thing in every request; unless given, `id` and "<stream>Id". */
  readonly target?: (change: Change<E, State>) => object
  /** The state by the names of the requests' fields; unless given, they are those of the state. */
  readonly present?: (state: State, event: E) => object
  /** Families of events, as "user.metadata", of which no state keeps what they set, by `key`. */
  readonly unkept?: readonly string[]
  /** By type, or by a pattern of types; the longest decides. */
  readonly undo?: {
    readonly [Type in E["type"] | Pattern]?: Undo<
      Type extends Pattern ? E : Extract<E, { type: Type }>,
      State
    >
  }
  /** Events that have no undo, by the reason: types and patterns. */
  readonly noUndo?: { readonly [Why in Reason]?: readonly string[] }
}

/** A history after its types have done their work. */
export type AnyHistory = { readonly stream: string } & StreamHistory<AnyEvent, unknown>

/** Binds a history to its kind: an event that is misspelled does not compile. */
export function historyOf<E extends AnyEvent, State>(
  kind: Aggregate<E, State>,
  history: StreamHistory<E, State>,
): AnyHistory
// An undo is only ever called with events of its own type, and states of its own kind.
export function historyOf({ stream }: AnyAggregate, history: Omit<AnyHistory, "stream">) {
  return { stream, ...history }
}

/** Of the fields that a change has made others, what they were. */
export function former<T extends object>(before: T, after: T): Partial<T> {
  const was: Partial<T> = {}
  for (const name in before) {
    if (textOf(before[name]) !== textOf(after[name])) was[name] = before[name]
  }
  return was
}

const textOf = (value: unknown): string =>
  JSON.stringify([value], (_, each) => (typeof each === "bigint" ? `${each}` : each))
