import { setImmediate as nextTurn } from "node:timers/promises"
import { Fault, lateError } from "../../kernel/fault.ts"
import type { AnyEvent, Cx, Recorded } from "../../store/index.ts"
import {
  changedKeys,
  type Difference,
  differencesOf,
  type Field,
  fieldsOf,
  isSame,
} from "./difference.ts"
import { keptSince } from "./query.ts"
import type { Place } from "./resource.ts"

/** A state as it is kept, and as it would be without what events say in private. */
export type Folded = { readonly whole: unknown; readonly open: unknown }

export type Happening = Recorded<AnyEvent>

type Folding = {
  readonly event: Happening
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
  const { stream } = kind
  let state: Folded = { whole: kind.initial, open: kind.initial }
  let from = 0
  for (;;) {
    const part = { instance, stream, id, from, asc: true, limit: eventsAtOnce }
    const events = await store.log.history(part)
    for (const event of events) {
      const after = {
        whole: store.fold(state.whole, event),
        open: store.fold(state.open, { ...event, private: null }),
      }
      yield { event, before: event.version === 1 ? nothing : state, after }
      state = after
    }
    from = events.at(-1)?.version ?? from
    if (events.length < eventsAtOnce) return
    if (cx.deadline !== undefined && cx.clock.now() >= cx.deadline) throw lateError()
    await nextTurn()
  }
}

/** An event, with the fields that it changed. */
export type Changed = {
  readonly event: Happening
  readonly differences: readonly Difference[]
  /** Whether all that it changed is by now as it was before: an undo would change nothing. */
  readonly isBack: boolean
}

/** A part of the changes of a thing; where the instance has a limit for that, only newer ones. */
export async function changesIn(
  cx: Cx,
  place: Place,
  part: { readonly from: number | undefined; readonly asc: boolean; readonly limit: number },
): Promise<readonly Changed[]> {
  const { instance } = cx
  const { kind, id } = place
  await cx.store.log.settle()
  const window = { ...part, instance, stream: kind.stream, id, since: keptSince(cx) }
  const events = await cx.store.log.history(window)
  const versions = new Set(events.map(({ version }) => version))
  const changes: (Omit<Changed, "isBack"> & { readonly former: Former })[] = []
  if (events.length === 0) return []
  let now: unknown
  for await (const { event, before, after } of foldings(cx, place)) {
    if (versions.has(event.version)) {
      const former = formerOf(place, before.whole, after.whole)
      changes.push({ event, differences: between(place, before, after), former })
      // A state may be large: a document that somebody has uploaded, a thousand roles.
      await nextTurn()
    }
    now = after.whole
  }
  const current = allFieldsOf(place, now)
  const found = changes.map(({ former, ...rest }) => ({ ...rest, isBack: isBack(former, current) }))
  return part.asc ? found : found.reverse()
}

type Fields = ReadonlyMap<string, Field>

/** The fields that a change has made others, as they were before. */
type Former = ReadonlyMap<string, Field | undefined>

function formerOf(place: Place, before: unknown, after: unknown): Former {
  const [was, is] = [allFieldsOf(place, before), allFieldsOf(place, after)]
  return new Map(changedKeys(was, is).map((key) => [key, was.get(key)]))
}

const isBack = (former: Former, current: Fields): boolean =>
  former.size > 0 &&
  [...former].every(([key, was]) => isSame(key, current, was ? new Map([[key, was]]) : new Map()))

/** Whatever may be shown of the thing, or may not: only names of fields come of it. */
export const allFieldsOf = ({ history: { hidden, sets } }: Place, state: unknown): Fields =>
  fieldsOf({ ...(hidden && { hidden }), ...(sets && { sets }) }, state, state)

export const between = (place: Place, before: Folded, after: Folded): readonly Difference[] =>
  differencesOf(shownIn(place, before), shownIn(place, after))

const shownIn = ({ history }: Place, { open, whole }: Folded) => fieldsOf(history, open, whole)

/** A moment of a thing: a time in ms UTC, or the place of an event. */
export type Moment = { readonly time: number } | { readonly position: number }

/** How a thing differs between two moments; without the first, all that it was at the second. */
export type Comparison = {
  readonly existed: boolean
  /** The last event up to the later moment. */
  readonly last: Happening | undefined
  readonly differences: readonly Difference[]
}

/**
 * Faults with `failed_precondition` where a moment lies before what the instance still shows of its
 * past.
 */
export async function compare(
  cx: Cx,
  place: Place,
  { from, to }: { readonly from: Moment | undefined; readonly to: Moment | undefined },
): Promise<Comparison> {
  await cx.store.log.settle()
  for (const moment of [from, to]) await mustBeKept(cx, moment)
  let [before, after] = [nothing, nothing]
  let last: Happening | undefined
  let isPastFrom = from === undefined
  for await (const { event, after: state } of foldings(cx, place)) {
    isPastFrom ||= from !== undefined && !isUpTo(event, from)
    if (!isPastFrom) before = state
    if (to && !isUpTo(event, to)) break
    after = state
    last = event
  }
  return { existed: before !== nothing, last, differences: between(place, before, after) }
}

const isUpTo = (event: Happening, moment: Moment): boolean =>
  "time" in moment ? event.time <= moment.time : event.position <= moment.position

export async function mustBeKept(cx: Cx, moment: Moment | undefined): Promise<void> {
  const since = keptSince(cx)
  if (!moment || since === undefined) return
  const time = "time" in moment ? moment.time : await timeAt(cx, moment.position)
  if (time >= since) return
  throw new Fault(
    "failed_precondition",
    "history.not_kept",
    "this instance shows only the newer part of its past; name a later time",
  )
}

const timeAt = async ({ store }: Cx, position: number): Promise<number> =>
  (await store.log.at([position]))[0]?.time ?? 0
