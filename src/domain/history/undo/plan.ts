import { Fault } from "../../../kernel/fault.ts"
import {
  type AnyEvent,
  type Change,
  type Cx,
  isReason,
  type Reason,
  reasons,
} from "../../../store/index.ts"
import { requestOf } from "../binding/v2-request.ts"
import { changedKeys, type Field, isSame } from "../difference.ts"
import { allFieldsOf, type Folded, foldings, type Happening, mustBeKept } from "../past.ts"
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
  readonly expected: ReadonlyMap<string, Field | undefined>
}

type Found = {
  readonly change: Change<AnyEvent, unknown>
  readonly now: Folded
  readonly last: number
  /** Whether a later event sets what no state keeps. */
  readonly isSetSince: boolean
}

/** What undoes a change, or why nothing does. */
export async function planOf(cx: Cx, place: Place, version: number): Promise<Plan | Fault> {
  await cx.store.log.settle()
  const found = await findChange(cx, place, version)
  if (!found) return missingError(version)
  const { change, now, last } = found
  const { event, owner } = change
  await mustBeKept(cx, { position: event.position })
  const undo = undoOf(place.history, event.type)
  if (undo === undefined) throw new Error(`no history states how ${event.type} is undone`)
  if (isReason(undo)) return noUndoError(undo)
  const fieldsOf = (state: unknown) => allFieldsOf(place, state)
  const [after, current] = [fieldsOf(change.after), fieldsOf(change.now)]
  const before = fieldsOf(event.version === 1 ? undefined : change.before)
  const keys = changedKeys(before, after)
  const changed = found.isSetSince ? [""] : keys.filter((key) => !isSame(key, current, after))
  if (changed.length > 0) {
    const isBack = keys.length > 0 && keys.every((key) => isSame(key, current, before))
    return isBack ? unchangedError() : changedSinceError(changed)
  }
  const answer = typeof undo === "function" ? undo(change) : undo
  if (isReason(answer)) return noUndoError(answer)
  const { operation, request, isLoose } = requestOf(place.history, change, answer)
  // Of what began with the change nothing is restored.
  const isWhole = event.version > 1 && !isLoose
  const former = isWhole ? keys.map((key) => [key, before.get(key)] as const) : []
  return { place, operation, request, owner, now, last, expected: new Map(former) }
}

async function findChange(cx: Cx, place: Place, version: number): Promise<Found | undefined> {
  const { id, kind } = place
  const earlierOf = new Map<string | undefined, Happening>()
  let change: Omit<Change<AnyEvent, unknown>, "now"> | undefined
  let [last, now, isSetSince]: [number, Folded | undefined, boolean] = [0, undefined, false]
  for await (const { event, before, after } of foldings(cx, place)) {
    const part = unkeptPart(place, event)
    if (event.version === version) {
      const { owner } = event
      const states = { before: before.whole ?? kind.initial, after: after.whole }
      change = { cx, id, owner, event, ...states, earlier: earlierOf.get(part) }
    } else if (change) isSetSince ||= part !== undefined && part === unkeptPart(place, change.event)
    else if (part !== undefined) earlierOf.set(part, event)
    last = event.version
    now = after
  }
  return change && now && { change: { ...change, now: now.whole }, now, last, isSetSince }
}

/** What an event sets that no state keeps, by family and key; undefined for all other events. */
function unkeptPart({ history: { unkept = [] } }: Place, { type, data }: Happening) {
  const family = type.slice(0, type.lastIndexOf("."))
  return unkept.includes(family) ? JSON.stringify([family, Reflect.get(data, "key")]) : undefined
}

const missingError = (version: number) =>
  new Fault("not_found", "history.change_missing", `there is no change ${version}`)

const noUndoError = (reason: Reason) =>
  new Fault("failed_precondition", `history.undo_${reason}`, `no undo: ${reasons[reason]}`)

export const unchangedError = () =>
  new Fault("failed_precondition", "history.undo_done", "no undo: it is as it was before already")

/** Keys of fields; an empty one is what no field says. */
const changedSinceError = (keys: readonly string[]) =>
  new Fault(
    "aborted",
    "history.changed_since",
    `no undo: ${wordsOfKeys(keys) || "it"} has been changed again since; undo that first`,
  )

/** A few of the fields by name. */
export const wordsOfKeys = (keys: readonly string[]): string =>
  keys
    .slice(0, 5)
    .map((key) => (key === "" ? "" : wordsOfPath({ languages: [] }, pathOf(key))))
    .filter(Boolean)
    .join(", ")

function pathOf(key: string): readonly string[] {
  const path: unknown = JSON.parse(key)
  return Array.isArray(path) ? path.map(String) : []
}
