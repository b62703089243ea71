import { aggregateOf, dependsOnData, namesOf, namesOfType } from "../../kernel/event/name.ts"
import { deadlineExceededError } from "../../kernel/fault.ts"
import type { AnyAggregate, Cx, EventFilter } from "../../store/index.ts"
import { app } from "../app/index.ts"
import { group } from "../group/index.ts"
import { listAccountStreams } from "../lockout/index.ts"
import { org } from "../org/index.ts"
import { project } from "../project/index.ts"
import { createPresenter, target } from "../target/index.ts"
import { user } from "../user-model/index.ts"
import { type EventPage, type RecordedEvent, retainedSince } from "./query.ts"

/** Filters of events; an absent one matches all. Names and IDs can be stored or presented ones. */
export type EventSearch = Omit<EventFilter, "ids"> & { readonly id?: string | undefined }

/** An event without secrets and personal data. */
export type OpenEvent = Omit<RecordedEvent, "private">

/** An event with the aggregate and type of the API. */
export type PresentedEvent = OpenEvent & {
  /** The name of the changed resource; empty for users and for resources without a name. */
  readonly name: string
  readonly storedType: string
}

/**
 * Events of the instance as they are stored; `from` is a position. Events older than the audit log
 * retention of the instance are omitted.
 */
export const storedEventsOf = async (cx: Cx, part: EventPage): Promise<readonly OpenEvent[]> =>
  (await readEvents(cx, {}, part)).map(({ private: _, ...event }) => event)

/**
 * The matching events as the API presents them. Types, aggregate types, and the ID of the aggregate
 * match both their presented and their stored values.
 */
export async function eventsOf(
  cx: Cx,
  search: EventSearch,
  part: EventPage,
): Promise<readonly PresentedEvent[]> {
  const present = createPresenter(cx)
  const looks = eventQueriesOf(cx, search, present)
  const found = (await Promise.all(looks.map((look) => runEventQuery(cx, look, part)))).flat()
  const byPosition = new Map(found.map((event) => [event.position, event]))
  const order = part.asc ? 1 : -1
  const sorted = [...byPosition.values()].sort((a, b) => (a.position - b.position) * order)
  return Promise.all(
    sorted.slice(0, part.limit).map(async ({ private: _, ...event }) => {
      const { aggregateType: stream, aggregateId: id, payload: data, type } = await present(event)
      const name = nameOf(cx, id === event.id ? event.stream : stream, id)
      return { ...event, type, stream, id, data, name, storedType: event.type }
    }),
  )
}

/** The current or last name of a resource; empty for users, whose names are personal data. */
export function nameOf(cx: Cx, stream: string, id: string): string {
  const state = namedStates[stream]?.(cx, id) ?? {}
  return "name" in state && typeof state.name === "string" ? state.name : ""
}

/** The states of resources whose names are not personal data, by stream. */
const namedStates: Readonly<Record<string, (cx: Cx, id: string) => object>> = {
  [org.stream]: (cx, id) => cx.store.state(cx, org, id),
  [project.stream]: (cx, id) => cx.store.state(cx, project, id),
  [app.stream]: (cx, id) => cx.store.state(cx, app, id),
  [group.stream]: (cx, id) => cx.store.state(cx, group, id),
  [target.stream]: (cx, id) => cx.store.state(cx, target, id),
}

/** A query of the log, and a predicate that selects from its result. */
type EventQuery = {
  readonly filter: EventFilter
  readonly matches?: (event: RecordedEvent) => boolean | Promise<boolean>
}

/** The number of events to read at a time when not all of them match. */
const batchSizeMin = 200

/** Reads until enough events match or the log ends. */
async function runEventQuery(cx: Cx, { filter, matches }: EventQuery, part: EventPage) {
  const found: RecordedEvent[] = []
  const limit = matches ? Math.max(part.limit, batchSizeMin) : part.limit
  for (let from = part.from; ; ) {
    const events = await readEvents(cx, filter, { ...part, limit, from })
    for (const event of events) if (!matches || (await matches(event))) found.push(event)
    from = events.at(-1)?.position
    if (events.length < limit || found.length >= part.limit) return found
    if (cx.deadline !== undefined && cx.clock.now() >= cx.deadline) throw deadlineExceededError()
  }
}

async function readEvents(
  cx: Cx,
  filter: EventFilter,
  part: EventPage,
): Promise<readonly RecordedEvent[]> {
  const since = Math.max(filter.since ?? 0, retainedSince(cx) ?? 0)
  return cx.store.events(cx, { ...filter, ...part, since: since || undefined })
}

function eventQueriesOf(
  cx: Cx,
  { types, streams, id, ...rest }: EventSearch,
  present: ReturnType<typeof createPresenter>,
): readonly EventQuery[] {
  const [names, kinds] = [types && new Set(types), streams && new Set(streams)]
  const stored = storedTypes(cx)
    .filter(({ type }) => !names || namesOfType(type).some((name) => names.has(name)))
    .filter(({ stream, aggregate }) => !kinds || kinds.has(stream) || kinds.has(aggregate))
  const isNamed = (event: RecordedEvent) => !names || namesOf(event).some((name) => names.has(name))
  const isByData = names !== undefined && stored.some(({ type }) => dependsOnData(type))
  const filter = types || streams ? { ...rest, types: stored.map(typeOf) } : rest
  const own: EventQuery = isByData ? { filter, matches: isNamed } : { filter }
  if (id === undefined) return [own]
  const others = aggregatesWith(cx, id)
    .filter(({ owner }) => owner === undefined || (rest.owner ?? owner) === owner)
    .map(({ aggregate, owner = rest.owner }): EventQuery => {
      const parts = stored.filter((each) => each.aggregate === aggregate && hasOwnId(each))
      const matches = async (event: RecordedEvent) =>
        isNamed(event) && (await present(event)).aggregateId === id
      return { filter: { ...rest, owner, types: parts.map(typeOf) }, matches }
    })
    .filter((look) => look.filter.types?.length)
  return [{ ...own, filter: { ...filter, ids: [id, ...listAccountStreams(cx, id)] } }, ...others]
}

type StoredType = ReturnType<typeof storedTypes>[number]

/** Every type that can be stored, with its stream and presented aggregate. */
export const storedTypes = ({ store }: Cx) =>
  store.eventTypes().streams.flatMap((stream) =>
    Object.keys(store.kind(stream)?.evolve ?? {}).map((type) => ({
      stream,
      type,
      aggregate: aggregateOf(stream, type),
    })),
  )

const typeOf = ({ type }: StoredType): string => type

/** Whether events of the type can have an ID other than that of their presented aggregate. */
const hasOwnId = ({ stream, aggregate }: StoredType): boolean =>
  stream !== aggregate && (aggregate !== "user" || stream === "impersonation")

/** The aggregates with this ID under which the API presents events of other streams. */
function aggregatesWith(cx: Cx, id: string) {
  const isOf = (kind: AnyAggregate) => {
    const owner = cx.store.receipt(cx, kind, id)?.owner
    return owner === undefined ? [] : [{ aggregate: kind.stream, owner }]
  }
  const instance = id === cx.instance ? [{ aggregate: "instance", owner: undefined }] : []
  return [...instance, ...[org, project, group, user].flatMap(isOf)]
}
