import { setImmediate as nextTurn } from "node:timers/promises"
import { Fault, lateError } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import {
  type Difference,
  differencesOf,
  type Fields,
  type FormerFields,
  fieldsOf,
  formerFields,
  isRestored,
} from "./difference.ts"
import { keptSince, type Part, type RecordedEvent } from "./query.ts"
import type { Place } from "./resource.ts"

/** A state as it is kept, and as it would be without what events say in private. */
export type Folded = { readonly whole: unknown; readonly open: unknown }

export type Folding = {
  readonly event: RecordedEvent
  readonly before: Folded
  readonly after: Folded
}

/** Before its first event a thing is not there, whatever decisions make of that. */
const nothing: Folded = { whole: undefined, open: undefined }

/** So many events are folded before others have their turn: a few milliseconds. */
const eventsAtOnce = 250

/** Every event of a stream from its first one on, with what it made of the state. */
export async function* foldings(
  cx: Cx,
  { kind, id }: Pick<Place, "kind" | "id">,
): AsyncGenerator<Folding> {
  const { instance, store } = cx
  const window = { instance, stream: kind.stream, id, asc: true, limit: eventsAtOnce }
  let state: Folded = { whole: kind.initial, open: kind.initial }
  let from = 0
  for (;;) {
    const events = await store.log.history({ ...window, from })
    for (const event of events) {
      const after = folded(store, state, event)
      yield { event, before: event.version === 1 ? nothing : state, after }
      state = after
    }
    from = events.at(-1)?.version ?? from
    if (events.length < eventsAtOnce) return
    if (cx.deadline !== undefined && cx.clock.now() >= cx.deadline) throw lateError()
    await nextTurn()
  }
}

type Event = Parameters<Cx["store"]["fold"]>[1]

export const folded = (store: Cx["store"], { whole, open }: Folded, event: Event): Folded => ({
  whole: store.fold(whole, event),
  open: store.fold(open, { ...event, private: null }),
})

/** An event, with the fields that it changed. */
export type Changed = {
  readonly event: RecordedEvent
  readonly differences: readonly Difference[]
  /** Whether all that it changed is by now as it was before: an undo would change nothing. */
  readonly isBack: boolean
}

/** A part of the changes of a thing; where the instance has a limit for that, only newer ones. */
export async function changesIn(cx: Cx, place: Place, part: Part): Promise<readonly Changed[]> {
  const { kind, id } = place
  await cx.store.log.settle()
  const window = { ...part, instance: cx.instance, stream: kind.stream, id, since: keptSince(cx) }
  const versions = new Set((await cx.store.log.history(window)).map(({ version }) => version))
  if (versions.size === 0) return []
  const changes: (Omit<Changed, "isBack"> & { readonly former: FormerFields })[] = []
  let now: unknown
  for await (const { event, before, after } of foldings(cx, place)) {
    now = after.whole
    if (!versions.has(event.version)) continue
    const former = formerFields(allFieldsOf(place, before.whole), allFieldsOf(place, after.whole))
    changes.push({ event, differences: between(place, before, after), former })
    // A state may be large: a document that somebody has uploaded, a thousand roles.
    await nextTurn()
  }
  const current = allFieldsOf(place, now)
  const found = changes.map(({ former, ...change }) => ({
    ...change,
    isBack: isRestored(former, current),
  }))
  return part.asc ? found : found.reverse()
}

/** Fields of any sensitivity: only their names may be shown. */
export const allFieldsOf = ({ history }: Place, state: unknown): Fields =>
  fieldsOf({ ...history, personal: [] }, state, state)

/** The differences that callers can see. */
export function between({ history }: Place, before: Folded, after: Folded): readonly Difference[] {
  const shown = ({ open, whole }: Folded) => fieldsOf(history, open, whole)
  return differencesOf(shown(before), shown(after))
}

/** A moment of a thing: a time in ms UTC, or the place of an event. */
export type Moment = { readonly time: number } | { readonly position: number }

/**
 * How a thing differs between two moments; without the first, all that it was at the second. `last`
 * is the last event up to the later moment. Faults with `failed_precondition` where a moment lies
 * before what the instance still shows of its past.
 */
export async function compare(
  cx: Cx,
  place: Place,
  { from, to }: Readonly<Record<"from" | "to", Moment | undefined>>,
) {
  await cx.store.log.settle()
  for (const moment of [from, to]) await mustBeKept(cx, moment)
  let [before, after] = [nothing, nothing]
  let last: RecordedEvent | undefined
  let isPastFrom = false
  for await (const { event, after: state } of foldings(cx, place)) {
    isPastFrom ||= !from || !isUpTo(event, from)
    if (!isPastFrom) before = state
    if (to && !isUpTo(event, to)) break
    after = state
    last = event
  }
  return { existed: before !== nothing, last, differences: between(place, before, after) }
}

const isUpTo = (event: RecordedEvent, moment: Moment): boolean =>
  "time" in moment ? event.time <= moment.time : event.position <= moment.position

export async function mustBeKept(cx: Cx, moment: Moment | undefined): Promise<void> {
  const since = keptSince(cx)
  if (!moment || since === undefined) return
  const [at] = "time" in moment ? [moment] : await cx.store.log.at([moment.position])
  if ((at?.time ?? 0) >= since) return
  throw new Fault(
    "failed_precondition",
    "history.not_kept",
    "this instance shows only the newer part of its past; name a later time",
  )
}
