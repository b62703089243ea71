import { setImmediate as nextTurn } from "node:timers/promises"
import { deadlineExceededError, Fault } from "../../kernel/fault.ts"
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
import { type EventPage, type RecordedEvent, retainedSince } from "./query.ts"
import type { HistoryResource } from "./resource.ts"

/** A complete state, and the same state without the private data of its events. */
export type StateVersions = { readonly whole: unknown; readonly open: unknown }

export type ReplayedEvent = {
  readonly event: RecordedEvent
  readonly before: StateVersions
  readonly after: StateVersions
}

/** The state before the first event. */
const absentState: StateVersions = { whole: undefined, open: undefined }

/** The number of events that are folded before the event loop runs again: a few milliseconds. */
const eventsPerTurn = 250

/** Yields every event of a stream, oldest first, with the states before and after it. */
export async function* replayEvents(
  cx: Cx,
  { kind, id }: Pick<HistoryResource, "kind" | "id">,
): AsyncGenerator<ReplayedEvent> {
  const { instance, store } = cx
  const window = { instance, stream: kind.stream, id, asc: true, limit: eventsPerTurn }
  let state: StateVersions = { whole: kind.initial, open: kind.initial }
  let from = 0
  for (;;) {
    const events = await store.log.history({ ...window, from })
    for (const event of events) {
      const after = foldEvent(store, state, event)
      yield { event, before: event.version === 1 ? absentState : state, after }
      state = after
    }
    from = events.at(-1)?.version ?? from
    if (events.length < eventsPerTurn) return
    if (cx.deadline !== undefined && cx.clock.now() >= cx.deadline) throw deadlineExceededError()
    await nextTurn()
  }
}

type Event = Parameters<Cx["store"]["fold"]>[1]

export const foldEvent = (
  store: Cx["store"],
  { whole, open }: StateVersions,
  event: Event,
): StateVersions => ({
  whole: store.fold(whole, event),
  open: store.fold(open, { ...event, private: null }),
})

/** An event and the fields that it changed. */
export type ChangedEvent = {
  readonly event: RecordedEvent
  readonly differences: readonly Difference[]
  /** Whether all changed fields have their former values again: an undo would change nothing. */
  readonly isBack: boolean
}

/** A page of the changes of a resource, without those older than the audit log retention. */
export async function listChanges(
  cx: Cx,
  resource: HistoryResource,
  part: EventPage,
): Promise<readonly ChangedEvent[]> {
  const { kind, id } = resource
  await cx.store.log.settle()
  const window = {
    ...part,
    instance: cx.instance,
    stream: kind.stream,
    id,
    since: retainedSince(cx),
  }
  const versions = new Set((await cx.store.log.history(window)).map(({ version }) => version))
  if (versions.size === 0) return []
  const changes: (Omit<ChangedEvent, "isBack"> & { readonly former: FormerFields })[] = []
  let now: unknown
  for await (const { event, before, after } of replayEvents(cx, resource)) {
    now = after.whole
    if (!versions.has(event.version)) continue
    const former = formerFields(
      allFieldsOf(resource, before.whole),
      allFieldsOf(resource, after.whole),
    )
    changes.push({ event, differences: visibleDifferences(resource, before, after), former })
    // A state can be large, such as an uploaded document or a thousand roles.
    await nextTurn()
  }
  const current = allFieldsOf(resource, now)
  const found = changes.map(({ former, ...change }) => ({
    ...change,
    isBack: isRestored(former, current),
  }))
  return part.asc ? found : found.reverse()
}

/** All fields, including sensitive ones: callers may show only their names. */
export const allFieldsOf = ({ history }: HistoryResource, state: unknown): Fields =>
  fieldsOf({ ...history, personal: [] }, state, state)

/** The differences that callers can see. */
export function visibleDifferences(
  { history }: HistoryResource,
  before: StateVersions,
  after: StateVersions,
): readonly Difference[] {
  const shown = ({ open, whole }: StateVersions) => fieldsOf(history, open, whole)
  return differencesOf(shown(before), shown(after))
}

/** A point in the history of a resource: a time in ms UTC or the position of an event. */
export type Moment = { readonly time: number } | { readonly position: number }

/**
 * Compares a resource at two moments; without the first, returns its fields at the second. `last`
 * is the last event up to the later moment. Throws `failed_precondition` if a moment is older than
 * the audit log retention of the instance.
 */
export async function compareMoments(
  cx: Cx,
  resource: HistoryResource,
  { from, to }: Readonly<Record<"from" | "to", Moment | undefined>>,
) {
  await cx.store.log.settle()
  for (const moment of [from, to]) await requireRetained(cx, moment)
  let [before, after] = [absentState, absentState]
  let last: RecordedEvent | undefined
  let isPastFrom = false
  for await (const { event, after: state } of replayEvents(cx, resource)) {
    isPastFrom ||= !from || !isAtOrBefore(event, from)
    if (!isPastFrom) before = state
    if (to && !isAtOrBefore(event, to)) break
    after = state
    last = event
  }
  return {
    existed: before !== absentState,
    last,
    differences: visibleDifferences(resource, before, after),
  }
}

const isAtOrBefore = (event: RecordedEvent, moment: Moment): boolean =>
  "time" in moment ? event.time <= moment.time : event.position <= moment.position

export async function requireRetained(cx: Cx, moment: Moment | undefined): Promise<void> {
  const since = retainedSince(cx)
  if (!moment || since === undefined) return
  const [at] = "time" in moment ? [moment] : await cx.store.log.at([moment.position])
  if ((at?.time ?? 0) >= since) return
  throw new Fault(
    "failed_precondition",
    "history.not_kept",
    "the audit log of this instance does not go back this far; choose a later time",
  )
}
