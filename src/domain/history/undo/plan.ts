import { Fault } from "../../../kernel/fault.ts"
import { type AnyEvent, type Change, type Cx, isReason, reasons } from "../../../store/index.ts"
import { requestOf } from "../binding/v2-request.ts"
import { type FormerFields, formerFields, isRestored, pathOf } from "../difference.ts"
import { allFieldsOf, type Folded, type Folding, foldings, mustBeKept } from "../past.ts"
import type { RecordedEvent } from "../query.ts"
import { type Place, undoOf } from "../resource.ts"
import { wordsOfPath } from "../words.ts"

/** How a change would be undone. */
export type Plan = {
  readonly place: Place
  readonly operation: string
  readonly request: object
  /** The organization that owns what is changed. */
  readonly owner: string
  readonly now: Folded
  /** The last version of the stream that the plan has read. */
  readonly last: number
  /** The former values of the fields that the change made others, where all must be restored. */
  readonly expected: FormerFields
}

/** What undoes a change, or why nothing does. */
export async function planOf(cx: Cx, place: Place, version: number): Promise<Plan | Fault> {
  await cx.store.log.settle()
  const found = await findChange(cx, place, version)
  if (!found) {
    return new Fault("not_found", "history.change_missing", `there is no change ${version}`)
  }
  const { change, isFirst, isSetSince, ...latest } = found
  const { event, owner } = change
  await mustBeKept(cx, event)
  const undo = undoOf(place.history, event.type)
  if (undo === undefined) throw new Error(`no history states how ${event.type} is undone`)
  if (isReason(undo)) return undoError(`history.undo_${undo}`, reasons[undo])
  const [after, now] = [allFieldsOf(place, change.after), allFieldsOf(place, change.now)]
  const former = formerFields(allFieldsOf(place, isFirst ? undefined : change.before), after)
  const changed = [...former.keys()].filter((key) => now.get(key) !== after.get(key))
  if (isSetSince || changed.length > 0) {
    if (isRestored(former, now)) return unchangedError()
    const words = isSetSince ? "it" : wordsOfKeys(changed)
    const since = "has been changed again since; undo that first"
    return new Fault("aborted", "history.changed_since", `no undo: ${words} ${since}`)
  }
  const answer = typeof undo === "function" ? undo(change) : undo
  if (isReason(answer)) return undoError(`history.undo_${answer}`, reasons[answer])
  const { isLoose, ...call } = requestOf(place.history, change, answer)
  // Of what began with the change nothing is restored.
  const expected: FormerFields = isFirst || isLoose ? new Map() : former
  return { place, ...call, owner, ...latest, expected }
}

async function findChange(cx: Cx, { kind, id, history }: Place, version: number) {
  let [folding, latest]: (Folding | undefined)[] = []
  const unkept: RecordedEvent[] = []
  for await (const each of foldings(cx, { kind, id })) {
    if (each.event.version === version) folding = each
    if (history.unkept?.includes(familyOf(each.event))) unkept.push(each.event)
    latest = each
  }
  if (!folding || !latest) return undefined
  const { event, before, after } = folding
  const same = unkept.filter((each) => isSamePart(each, event))
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
const isSamePart = (one: RecordedEvent, other: RecordedEvent): boolean =>
  familyOf(one) === familyOf(other) &&
  Reflect.get(one.data, "key") === Reflect.get(other.data, "key")

export const undoError = (id: string, reason: string) =>
  new Fault("failed_precondition", id, `no undo: ${reason}`)

export const unchangedError = () => undoError("history.undo_done", "it is as it was before already")

/** A few of the fields by name. */
export const wordsOfKeys = (keys: readonly string[]): string =>
  keys
    .slice(0, 5)
    .map((key) => wordsOfPath({ languages: [] }, pathOf(key)))
    .join(", ")
