import { aggregateOf, dependsOnData, namesOf, namesOfType } from "../../kernel/event/name.ts"
import { lateError } from "../../kernel/fault.ts"
import type { AnyAggregate, Cx, EventFilter } from "../../store/index.ts"
import { app } from "../app/index.ts"
import { group } from "../group/index.ts"
import { accountStreams } from "../lockout/index.ts"
import { org } from "../org/index.ts"
import { project } from "../project/index.ts"
import { presenterOf, target } from "../target/index.ts"
import { user } from "../user-model/index.ts"
import { keptSince, type Part, type RecordedEvent } from "./query.ts"

/** Which events are requested; absent is any. Names and IDs are stored or presented ones. */
export type EventSearch = Omit<EventFilter, "ids"> & { readonly id?: string | undefined }

/** An event without secrets and personal data. */
export type OpenEvent = Omit<RecordedEvent, "private">

/** An event under the aggregate and type of the interface. */
export type PresentedEvent = OpenEvent & {
  /** What it happened to is called; empty for users, and for what has no name. */
  readonly name: string
  readonly storedType: string
}

/**
 * Events of the instance as they are stored; `from` is a position. Where the instance has a limit
 * for that, only newer ones.
 */
export const storedEventsOf = async (cx: Cx, part: Part): Promise<readonly OpenEvent[]> =>
  (await eventsIn(cx, {}, part)).map(({ private: _, ...event }) => event)

/**
 * The same as the interface presents them, of those that match. Types, aggregate types and the ID
 * of the aggregate match as they are presented and as they are stored.
 */
export async function eventsOf(
  cx: Cx,
  search: EventSearch,
  part: Part,
): Promise<readonly PresentedEvent[]> {
  const present = presenterOf(cx)
  const looks = looksOf(cx, search, present)
  const found = (await Promise.all(looks.map((look) => foundBy(cx, look, part)))).flat()
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

/** What a thing is called today, or was called last; users are personal data, and named nowhere. */
export function nameOf(cx: Cx, stream: string, id: string): string {
  const state = states[stream]?.(cx, id) ?? {}
  return "name" in state && typeof state.name === "string" ? state.name : ""
}

/** What has a name that is no personal data, by its stream. */
const states: Readonly<Record<string, (cx: Cx, id: string) => object>> = {
  [org.stream]: (cx, id) => cx.store.state(cx, org, id),
  [project.stream]: (cx, id) => cx.store.state(cx, project, id),
  [app.stream]: (cx, id) => cx.store.state(cx, app, id),
  [group.stream]: (cx, id) => cx.store.state(cx, group, id),
  [target.stream]: (cx, id) => cx.store.state(cx, target, id),
}

/** A look into the log, and which of the events that it finds match. */
type Look = {
  readonly filter: EventFilter
  readonly matches?: (event: RecordedEvent) => boolean | Promise<boolean>
}

/** Events that are read at a time where not all of them match. */
const readMin = 200

/** Reads on until enough events match, or no more are there. */
async function foundBy(cx: Cx, { filter, matches }: Look, part: Part) {
  const found: RecordedEvent[] = []
  const limit = matches ? Math.max(part.limit, readMin) : part.limit
  for (let from = part.from; ; ) {
    const events = await eventsIn(cx, filter, { ...part, limit, from })
    for (const event of events) if (!matches || (await matches(event))) found.push(event)
    from = events.at(-1)?.position
    if (events.length < limit || found.length >= part.limit) return found
    if (cx.deadline !== undefined && cx.clock.now() >= cx.deadline) throw lateError()
  }
}

async function eventsIn(
  cx: Cx,
  filter: EventFilter,
  part: Part,
): Promise<readonly RecordedEvent[]> {
  const since = Math.max(filter.since ?? 0, keptSince(cx) ?? 0)
  return cx.store.events(cx, { ...filter, ...part, since: since || undefined })
}

function looksOf(
  cx: Cx,
  { types, streams, id, ...rest }: EventSearch,
  present: ReturnType<typeof presenterOf>,
): readonly Look[] {
  const [names, kinds] = [types && new Set(types), streams && new Set(streams)]
  const stored = storedTypes(cx)
    .filter(({ type }) => !names || namesOfType(type).some((name) => names.has(name)))
    .filter(({ stream, aggregate }) => !kinds || kinds.has(stream) || kinds.has(aggregate))
  const isNamed = (event: RecordedEvent) => !names || namesOf(event).some((name) => names.has(name))
  const isByData = names !== undefined && stored.some(({ type }) => dependsOnData(type))
  const filter = types || streams ? { ...rest, types: stored.map(typeOf) } : rest
  const own: Look = isByData ? { filter, matches: isNamed } : { filter }
  if (id === undefined) return [own]
  const others = aggregatesWith(cx, id)
    .filter(({ owner }) => owner === undefined || (rest.owner ?? owner) === owner)
    .map(({ aggregate, owner = rest.owner }): Look => {
      const parts = stored.filter((each) => each.aggregate === aggregate && isPart(each))
      const matches = async (event: RecordedEvent) =>
        isNamed(event) && (await present(event)).aggregateId === id
      return { filter: { ...rest, owner, types: parts.map(typeOf) }, matches }
    })
    .filter((look) => look.filter.types?.length)
  return [{ ...own, filter: { ...filter, ids: [id, ...accountStreams(cx, id)] } }, ...others]
}

type StoredType = ReturnType<typeof storedTypes>[number]

/** Every type that can be stored, with its stream and the aggregate that it is presented under. */
export const storedTypes = ({ store }: Cx) =>
  store.eventTypes().streams.flatMap((stream) =>
    Object.keys(store.kind(stream)?.evolve ?? {}).map((type) => ({
      stream,
      type,
      aggregate: aggregateOf(stream, type),
    })),
  )

const typeOf = ({ type }: StoredType): string => type

/** Whether its events can have an ID of their own. The IDs of a user's other counters are known. */
const isPart = ({ stream, aggregate }: StoredType): boolean =>
  stream !== aggregate && (aggregate !== "user" || stream === "impersonation")

/** The aggregates with this ID under which events of other streams are presented. */
function aggregatesWith(cx: Cx, id: string) {
  const isOf = (kind: AnyAggregate) => {
    const owner = cx.store.receipt(cx, kind, id)?.owner
    return owner === undefined ? [] : [{ aggregate: kind.stream, owner }]
  }
  const instance = id === cx.instance ? [{ aggregate: "instance", owner: undefined }] : []
  return [...instance, ...[org, project, group, user].flatMap(isOf)]
}
