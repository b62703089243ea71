import type { Aggregate, AnyAggregate, AnyEvent, Cx, Recorded } from "../../../store/index.ts"

/** Why a change has no undo, by what it was. */
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

/** An operation, and the message that is asked of it. */
export type Asked = {
  /** "core.project.v2.ProjectService/UpdateProject" */
  readonly operation: string
  readonly request: object
  /** Whether not all fields are as before: what held unsaid is said, a list has another order. */
  readonly isLoose?: boolean
}

/** A change, with what it was made of and what became of it. */
export type Past<E extends AnyEvent, State> = {
  readonly cx: Cx
  /** Of the stream. */
  readonly id: string
  /** The organisation that owns it; empty for what the instance owns. */
  readonly owner: string
  readonly event: Recorded<E>
  /** Right before it, right after it, and by now. */
  readonly before: State
  readonly after: State
  readonly now: State
}

/** What takes a change back; a text where nothing does. */
type Way<E extends AnyEvent, State> = (past: Past<E, State>) => Asked | Reason

/**
 * The same for what is said by a key and kept in no state: `part` names it in the event, and
 * `earlier` is the event that said it before; undefined where none did, or it was taken away.
 */
type PartWay<E extends AnyEvent, State> = {
  readonly part: (data: E["data"]) => string
  readonly ask: (past: Past<E, State>, earlier: Recorded<AnyEvent> | undefined) => Asked | Reason
}

/** Of each type of event of a kind of thing: what takes it back, or why nothing does. */
export type Ways<E extends AnyEvent, State> = {
  readonly [Type in E["type"]]:
    | Reason
    | Way<Extract<E, { readonly type: Type }>, State>
    | PartWay<Extract<E, { readonly type: Type }>, State>
}

/** A table after its types have done their work. */
export type Undoing = {
  readonly kind: AnyAggregate
  readonly ways: Readonly<Record<string, Erased>>
}

type Erased = Reason | Way<AnyEvent, unknown> | PartWay<AnyEvent, unknown>

/** Binds a table to its kind: an event that is missing or misspelt does not compile. */
export function undoing<E extends AnyEvent, State>(
  kind: Aggregate<E, State>,
  ways: Ways<E, State>,
): Undoing
// Each way is only ever asked about events of its own type, and states of its own kind.
export function undoing(kind: AnyAggregate, ways: Undoing["ways"]): Undoing {
  return { kind, ways }
}

/** The same where only some events can be undone; `others` says why not of the rest. */
export function partlyUndone<E extends AnyEvent, State>(
  kind: Aggregate<E, State>,
  others: (type: string) => Reason,
  ways: Partial<Ways<E, State>>,
): Undoing
export function partlyUndone(
  kind: AnyAggregate,
  others: (type: string) => Reason,
  ways: Partial<Undoing["ways"]>,
): Undoing {
  const all = Object.keys(kind.evolve).map((type) => [type, ways[type] ?? others(type)] as const)
  return { kind, ways: Object.fromEntries(all) }
}
