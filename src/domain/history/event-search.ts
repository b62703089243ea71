import { aggregateOf, dependsOnData, namesOf, namesOfType } from "../../kernel/event/name.ts"
import type { Presented, StoredEvent } from "../../kernel/event/subject.ts"
import { lateError } from "../../kernel/fault.ts"
import type { AnyEvent, Cx, EventFilter, Recorded } from "../../store/index.ts"
import { group } from "../group/index.ts"
import { accountStreams } from "../lockout/index.ts"
import { org } from "../org/index.ts"
import { project } from "../project/index.ts"
import { user } from "../user-model/index.ts"
import type { Part } from "./query.ts"

/** Which events are requested; absent is any. Names and IDs are stored or presented ones. */
export type EventSearch = {
  readonly types?: readonly string[] | undefined
  /** Types of aggregates, or kinds of streams. */
  readonly streams?: readonly string[] | undefined
  readonly id?: string | undefined
  readonly editor?: string | undefined
  readonly owner?: string | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
}

type RecordedEvent = Recorded<AnyEvent>

export type Searching = {
  readonly search: EventSearch
  readonly part: Part
  readonly find: (filter: EventFilter, part: Part) => Promise<readonly RecordedEvent[]>
  readonly present: (event: StoredEvent) => Promise<Presented>
}

type Kind = { readonly stream: string; readonly type: string }

/** A look into the log, and which of the events that it finds match. */
type Look = {
  readonly filter: EventFilter
  readonly matches?: (event: RecordedEvent) => boolean | Promise<boolean>
}

/** The part of the events that match, in its order. */
export async function matchingEvents(
  cx: Cx,
  searching: Searching,
): Promise<readonly RecordedEvent[]> {
  const { asc, limit } = searching.part
  const looks = looksOf(cx, searching)
  const found = await Promise.all(looks.map((look) => foundBy(cx, look, searching)))
  const byPosition = new Map(found.flat().map((event) => [event.position, event]))
  const order = asc ? 1 : -1
  return [...byPosition.values()].sort((a, b) => (a.position - b.position) * order).slice(0, limit)
}

/** Events that are read at a time where not all of them match. */
const readMin = 200

/** Reads on until enough events match, or no more are there. */
async function foundBy(cx: Cx, { filter, matches }: Look, { part, find }: Searching) {
  const found: RecordedEvent[] = []
  const limit = matches ? Math.max(part.limit, readMin) : part.limit
  for (let from = part.from; ; ) {
    const events = await find(filter, { ...part, limit, from })
    for (const event of events) if (!matches || (await matches(event))) found.push(event)
    from = events.at(-1)?.position
    if (events.length < limit || found.length >= part.limit) return found
    if (cx.deadline !== undefined && cx.clock.now() >= cx.deadline) throw lateError()
  }
}

function looksOf(cx: Cx, { search, present }: Searching): readonly Look[] {
  const { types, streams, id, ...rest } = search
  const kinds = kindsOf(cx, search)
  const named = types && new Set(types)
  const isNamed = (event: RecordedEvent) => !named || namesOf(event).some((name) => named.has(name))
  const isByData = types !== undefined && kinds.some(({ type }) => dependsOnData(type))
  const filter = (types || streams) === undefined ? rest : { ...rest, types: kinds.map(typeOf) }
  const own: Look = isByData ? { filter, matches: isNamed } : { filter }
  if (id === undefined) return [own]
  const ids = [id, ...accountStreams(cx, id)]
  const partsOf = kinds.filter(({ stream, type }) => stream !== aggregateOf(stream, type))
  const others = otherOwners(cx, id).flatMap(({ aggregateType, owner = rest.owner }): Look[] => {
    const of = partsOf.filter(({ stream, type }) => {
      // The other counters of a user have IDs that are known.
      if (aggregateType === "user" && stream !== "impersonation") return false
      return aggregateOf(stream, type) === aggregateType
    })
    const isOther = rest.owner !== undefined && rest.owner !== owner
    if (of.length === 0 || isOther) return []
    const matches = async (event: RecordedEvent) =>
      isNamed(event) && (await present(event)).aggregateId === id
    return [{ filter: { ...rest, owner, types: of.map(typeOf) }, matches }]
  })
  return [{ ...own, filter: { ...filter, ids } }, ...others]
}

const typeOf = ({ type }: Kind): string => type

/** The stored types that may match, with their streams. */
function kindsOf({ store }: Cx, { types, streams }: EventSearch): readonly Kind[] {
  const [names, of] = [types && new Set(types), streams && new Set(streams)]
  return store
    .eventTypes()
    .streams.flatMap((stream) =>
      Object.keys(store.kind(stream)?.evolve ?? {}).map((type) => ({ stream, type })),
    )
    .filter(({ type }) => !names || namesOfType(type).some((name) => names.has(name)))
    .filter(({ stream, type }) => !of || of.has(stream) || of.has(aggregateOf(stream, type)))
}

/** Events of other streams that are presented as events of the thing with this ID. */
function otherOwners(cx: Cx, id: string) {
  const ownerOf = (kind: Parameters<typeof cx.store.receipt>[1]) =>
    cx.store.receipt(cx, kind, id)?.owner
  const projectOwner = ownerOf(project)
  const groupOwner = ownerOf(group)
  const home = ownerOf(user)
  return [
    ...(id === cx.instance ? [{ aggregateType: "instance" }] : []),
    ...(ownerOf(org) === undefined ? [] : [{ aggregateType: "org", owner: id }]),
    ...(projectOwner === undefined ? [] : [{ aggregateType: "project", owner: projectOwner }]),
    ...(groupOwner === undefined ? [] : [{ aggregateType: "group", owner: groupOwner }]),
    ...(home === undefined ? [] : [{ aggregateType: "user", owner: home }]),
  ]
}
