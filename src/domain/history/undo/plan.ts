import { Fault } from "../../../kernel/fault.ts"
import {
  type AnyEvent,
  type Change,
  type Cx,
  isNoUndoReason,
  noUndoReasons,
} from "../../../store/index.ts"
import { undoRequestOf } from "../binding/v2-request.ts"
import { type FormerFields, formerFields, isRestored, pathOf } from "../difference.ts"
import {
  allFieldsOf,
  type ReplayedEvent,
  replayEvents,
  requireRetained,
  type StateVersions,
} from "../past.ts"
import type { RecordedEvent } from "../query.ts"
import { type HistoryResource, undoOf } from "../resource.ts"
import { fieldTitle } from "../words.ts"

/** The operation that would undo a change, and the state it is based on. */
export type UndoPlan = {
  readonly place: HistoryResource
  readonly operation: string
  readonly request: object
  /** The organization that owns the resource. */
  readonly owner: string
  readonly now: StateVersions
  /** The last version of the stream that the plan is based on. */
  readonly last: number
  /** The former values of the changed fields, all of which must be restored. */
  readonly expected: FormerFields
}

/** Plans the undo of a change; returns a fault if it can't be undone. */
export async function planUndo(
  cx: Cx,
  resource: HistoryResource,
  version: number,
): Promise<UndoPlan | Fault> {
  await cx.store.log.settle()
  const found = await findChange(cx, resource, version)
  if (!found) {
    return new Fault("not_found", "history.change_missing", `change ${version} not found`)
  }
  const { change, isFirst, isSetSince, ...latest } = found
  const { event, owner } = change
  await requireRetained(cx, event)
  const undo = undoOf(resource.history, event.type)
  if (undo === undefined) throw new Error(`no history defines the undo of ${event.type}`)
  if (isNoUndoReason(undo)) return undoError(`history.undo_${undo}`, noUndoReasons[undo])
  const [after, now] = [allFieldsOf(resource, change.after), allFieldsOf(resource, change.now)]
  const former = formerFields(allFieldsOf(resource, isFirst ? undefined : change.before), after)
  const changed = [...former.keys()].filter((key) => now.get(key) !== after.get(key))
  if (isSetSince || changed.length > 0) {
    if (isRestored(former, now)) return unchangedError()
    const words = isSetSince ? "it" : formatFieldNames(changed)
    const since = "has changed since; undo the newer change first"
    return new Fault("aborted", "history.changed_since", `no undo: ${words} ${since}`)
  }
  const answer = typeof undo === "function" ? undo(change) : undo
  if (isNoUndoReason(answer)) return undoError(`history.undo_${answer}`, noUndoReasons[answer])
  const { isLoose, ...call } = undoRequestOf(resource.history, change, answer)
  // A change that created the resource has no former values to restore.
  const expected: FormerFields = isFirst || isLoose ? new Map() : former
  return { place: resource, ...call, owner, ...latest, expected }
}

async function findChange(cx: Cx, { kind, id, history }: HistoryResource, version: number) {
  let [folding, latest]: (ReplayedEvent | undefined)[] = []
  const unkept: RecordedEvent[] = []
  for await (const each of replayEvents(cx, { kind, id })) {
    if (each.event.version === version) folding = each
    if (history.unkept?.includes(familyOf(each.event))) unkept.push(each.event)
    latest = each
  }
  if (!folding || !latest) return undefined
  const { event, before, after } = folding
  const same = unkept.filter((each) => setsSameKey(each, event))
  const change: Change<AnyEvent, unknown> = {
    cx,
    id,
    owner: event.owner,
    event,
    before: before.whole ?? kind.initial,
    after: after.whole,
    now: latest.after.whole,
    earlier: same.findLast((each) => each.version < version),
  }
  const isSetSince = same.some((each) => each.version > version)
  return {
    change,
    isFirst: version === 1,
    isSetSince,
    now: latest.after,
    last: latest.event.version,
  }
}

const familyOf = ({ type }: RecordedEvent): string => type.slice(0, type.lastIndexOf("."))

/** Whether two events set the same key of the same family. */
const setsSameKey = (one: RecordedEvent, other: RecordedEvent): boolean =>
  familyOf(one) === familyOf(other) &&
  Reflect.get(one.data, "key") === Reflect.get(other.data, "key")

export const undoError = (id: string, reason: string) =>
  new Fault("failed_precondition", id, `no undo: ${reason}`)

export const unchangedError = () =>
  undoError("history.undo_done", "the former values are already restored")

/** The names of the first five fields, separated by commas. */
export const formatFieldNames = (keys: readonly string[]): string =>
  keys
    .slice(0, 5)
    .map((key) => fieldTitle({ languages: [] }, pathOf(key)))
    .join(", ")
