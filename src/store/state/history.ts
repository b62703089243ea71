import type { Aggregate, AnyAggregate } from "../aggregate.ts"
import type { AnyEvent, PersistedEvent } from "../event.ts"
import type { Cx } from "../store.ts"

/** Why a change can't be undone. */
export const noUndoReasons = {
  creation: "this created the resource; delete it if it is no longer needed",
  removal: "deleted data can't be restored",
  proof: "this is a credential that only the user can set up again",
  secret: "secrets and keys are shown once and can't be restored",
  address: "email, phone number or name must be verified again",
  fact: "this is only a record of what happened; there is nothing to undo",
  operator: "only operators of the server can change this",
  registration: "the application manages this itself",
  file: "files are deleted when they are replaced",
  settings: "this is where secrets are sent; enter the settings again with the secret",
  cascade: "this is a consequence of another change",
  parts: "the previous value is not stored completely",
  unsaid: "there was no value before, and it can't be removed, only changed",
  keys: "tokens may already be signed with this key; activate another key instead",
  texts: "texts are replaced as a whole; enter the previous ones, or reset them",
} as const

export type NoUndoReason = keyof typeof noUndoReasons

export const isNoUndoReason = (answer: unknown): answer is NoUndoReason =>
  typeof answer === "string" && Object.hasOwn(noUndoReasons, answer)

/** A change, with the states around it. */
export type Change<E extends AnyEvent, State> = {
  readonly cx: Cx
  /** The ID of the stream. */
  readonly id: string
  /** The organization that owns the stream; empty for resources of the instance. */
  readonly owner: string
  readonly event: PersistedEvent<E>
  /** Directly before the event, directly after it, and now. */
  readonly before: State
  readonly after: State
  readonly now: State
  /** For `unkept` events: the previous event with the same key. */
  readonly earlier: PersistedEvent<AnyEvent> | undefined
}

/**
 * "UpdateProject" of the history's service, or the full name: "core.project.v2.ProjectService/…".
 */
export type OperationName = Capitalize<string> | `core.${string}`

/**
 * An operation that undoes a change, with the fields of its request besides those of `target`.
 * Values are converted to the request's types: see `requestOf` in domain/history. `loose`: not all
 * fields are exactly as before afterwards, for example because a default becomes a stored value.
 */
export type UndoRequest = readonly [operation: OperationName, fields: object, exactness?: "loose"]

/**
 * What undoes an event: an operation that receives the former values of the changed fields, an
 * operation with its own request, or the reason why it can't be undone.
 */
export type Undo<E extends AnyEvent, State> =
  | NoUndoReason
  | OperationName
  | ((change: Change<E, State>) => NoUndoReason | UndoRequest)

/** Types of events; `*` is any text. */
type Pattern = `${string}*${string}`

/**
 * What the history shows for a kind of stream, and how its events are undone. State paths are
 * dotted; `*` is any key.
 */
export type StreamHistory<E extends AnyEvent, State> = {
  /** From private payloads: shown to callers who can read the resource itself. */
  readonly personal?: readonly string[]
  /** Versions, times and authors that change with every event. */
  readonly hidden?: readonly string[]
  /** Maps whose keys are shown, but not their values. */
  readonly sets?: readonly string[]
  /**
   * The service, and the name of the resource in it: "core.project.v2.ProjectService/*Project". For
   * events that are in neither `undo` nor `noUndo`, the undo is derived: the last word of their
   * type selects the verb, see `inverses` in domain/history.
   */
  readonly operations?: `core.${string}Service/*${string}`
  /** The fields that identify the resource in every request; by default `id` and "<stream>Id". */
  readonly target?: (change: Change<E, State>) => object
  /** Renames the state's fields to those of the requests; by default, they are the same. */
  readonly present?: (state: State, event: E) => object
  /**
   * Families of events, such as "user.metadata", whose values are set by `key` and not part of a
   * state.
   */
  readonly unkept?: readonly string[]
  /** By type or pattern; the longest match applies. */
  readonly undo?: {
    readonly [Type in E["type"] | Pattern]?: Undo<
      Type extends Pattern ? E : Extract<E, { type: Type }>,
      State
    >
  }
  /** Events that can't be undone, by reason: types and patterns. */
  readonly noUndo?: { readonly [Reason in NoUndoReason]?: readonly string[] }
}

/** A history without its type parameters. */
export type AnyHistory = { readonly stream: string } & StreamHistory<AnyEvent, unknown>

/** Binds a history to its aggregate: misspelled event types do not compile. */
export function historyOf<E extends AnyEvent, State>(
  kind: Aggregate<E, State>,
  history: StreamHistory<E, State>,
): AnyHistory
// An undo is only called with events of its own type and states of its own aggregate.
export function historyOf({ stream }: AnyAggregate, history: Omit<AnyHistory, "stream">) {
  return { stream, ...history }
}

/** The former values of the fields that a change has modified. */
export function formerValues<T extends object>(before: T, after: T): Partial<T> {
  const was: Partial<T> = {}
  for (const name in before) {
    if (toComparableText(before[name]) !== toComparableText(after[name])) was[name] = before[name]
  }
  return was
}

const toComparableText = (value: unknown): string =>
  JSON.stringify([value], (_, each) => (typeof each === "bigint" ? `${each}` : each))
