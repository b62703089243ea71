import { Fault } from "../../kernel/fault.ts"
import { type AnyAggregate, type AnyHistory, type Cx, isNoUndoReason } from "../../store/index.ts"

/** A resource whose history is requested: the kind and ID of its stream. */
export type HistoryResource = {
  readonly kind: AnyAggregate
  readonly id: string
  readonly history: AnyHistory
}

/** Loads the history definition of a kind from the history.ts of its module. */
export async function readHistory({ stream, history }: AnyAggregate): Promise<AnyHistory> {
  const isOf = (each: AnyHistory) => each.stream === stream
  return Object.values((await history?.()) ?? {}).find(isOf) ?? { stream }
}

/** How an event is undone, or why it can't be; undefined if its module defines neither. */
export function undoOf(history: AnyHistory, type: string) {
  const { undo = {}, noUndo = {}, operations } = history
  const reasons = Object.entries(noUndo).flatMap(([reason, patterns]) =>
    patterns.map((pattern) => [pattern, reason] as const),
  )
  const [longest] = [...Object.entries(undo), ...reasons]
    .filter(([pattern]) => matchesType(pattern, type))
    .toSorted(([one], [other]) => other.length - one.length)
  if (longest) return longest[1]
  const derived = defaultUndos[type.slice(type.lastIndexOf(".") + 1)]
  return derived && !isNoUndoReason(derived) ? operations?.replace("*", derived) : derived
}

/** The default undo by the last word of an event type: the verb of an operation, or a reason. */
const defaultUndos: Readonly<Record<string, string>> = {
  added: "creation",
  removed: "removal",
  changed: "Update",
  deactivated: "Activate",
  reactivated: "Deactivate",
  locked: "Unlock",
  unlocked: "Lock",
}

/** Whether changes of the type can have an undo. */
export function isUndoable(history: AnyHistory, type: string): boolean {
  const undo = undoOf(history, type)
  return undo !== undefined && !isNoUndoReason(undo)
}

const matchesType = (pattern: string, type: string): boolean =>
  new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*")}$`).test(type)

/** The kind of a stream; throws `invalid_argument` if no permanent stream has this name. */
export function requireKind({ store }: Pick<Cx, "store">, stream: string): AnyAggregate {
  const kind = store.kind(stream)
  if (kind?.retention === "forever") return kind
  throw new Fault(
    "invalid_argument",
    "history.kind_unknown",
    "unknown kind of resource, or its events are not kept permanently; ListAggregateTypes " +
      "lists the kinds",
  )
}
