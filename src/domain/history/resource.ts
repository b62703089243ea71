import { Fault } from "../../kernel/fault.ts"
import { type AnyAggregate, type AnyHistory, type Cx, isReason } from "../../store/index.ts"

/** One thing whose history is requested: the kind of its stream, and its id there. */
export type Place = {
  readonly kind: AnyAggregate
  readonly id: string
  readonly history: AnyHistory
}

/** The history of a kind, as its module states it in history.ts. */
export async function readHistory({ stream, history }: AnyAggregate): Promise<AnyHistory> {
  const isOf = (each: AnyHistory) => each.stream === stream
  return Object.values((await history?.()) ?? {}).find(isOf) ?? { stream }
}

/** How an event is undone, or why not; undefined where its module does not state it. */
export function undoOf(history: AnyHistory, type: string) {
  const { undo = {}, noUndo = {}, operations } = history
  const reasons = Object.entries(noUndo).flatMap(([reason, patterns]) =>
    patterns.map((pattern) => [pattern, reason] as const),
  )
  const [longest] = [...Object.entries(undo), ...reasons]
    .filter(([pattern]) => matches(pattern, type))
    .toSorted(([one], [other]) => other.length - one.length)
  if (longest) return longest[1]
  const derived = inverses[type.slice(type.lastIndexOf(".") + 1)]
  return derived && !isReason(derived) ? operations?.replace("*", derived) : derived
}

/** What the last word of a type says of its undo: the verb of an operation, or a reason. */
const inverses: Readonly<Record<string, string>> = {
  added: "creation",
  removed: "removal",
  changed: "Update",
  deactivated: "Activate",
  reactivated: "Deactivate",
  locked: "Unlock",
  unlocked: "Lock",
}

/** Whether some changes of the type have an undo. */
export function isUndoable(history: AnyHistory, type: string): boolean {
  const undo = undoOf(history, type)
  return undo !== undefined && !isReason(undo)
}

const matches = (pattern: string, type: string): boolean =>
  new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*")}$`).test(type)

/** The kind of a stream; faults with `invalid_argument` where there is none that is kept. */
export function kindOf({ store }: Pick<Cx, "store">, stream: string): AnyAggregate {
  const kind = store.kind(stream)
  if (kind?.retention === "forever") return kind
  throw new Fault(
    "invalid_argument",
    "history.kind_unknown",
    "there is no history of this kind of things; ListAggregateTypes says which kinds there are, " +
      "and what is soon dropped has none",
  )
}
