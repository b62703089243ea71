import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import type { ListEventsRequest } from "../../../gen/core/admin/v1/event_pb.ts"
import { SystemService } from "../../../gen/core/system/v1/system_service_pb.ts"
import { listedNames } from "../../../kernel/event/name.ts"
import { parsePage } from "../../../kernel/page.ts"
import { toTimestamp } from "../../../protocol/api/response.ts"
import { type Cx, type FailedEvent, listFailedEvents } from "../../../store/index.ts"
import { type EventSearch, eventsOf, type PresentedEvent, storedTypes } from "../event.ts"
import { databaseName, removeFailed } from "../failed-event.ts"
import { type Editor, editorsOf } from "../query.ts"
import { eventTitle, parseSequence, streamTitle } from "../words.ts"

export const admin = bindHandlers<Cx>()(AdminService, {
  listEvents: async (req, cx) => {
    const { limit, asc } = parsePage(req)
    const events = await eventsOf(cx, searchOf(req), {
      limit,
      asc,
      from: parseSequence(req.sequence),
    })
    const editors = editorsOf(cx)
    return { events: events.map((event) => toEvent(cx, event, editors(event))) }
  },
  listEventTypes: (_, cx) => {
    const stored = cx.store.eventTypes().types
    const listed = new Map(stored.flatMap((type) => listedNames(type).map((name) => [name, type])))
    return { eventTypes: [...listed].map(([name, type]) => toType(cx, name, type)) }
  },
  listAggregateTypes: (_, cx) => {
    const presented = storedTypes(cx).map(({ aggregate }) => aggregate)
    const names = new Set([...presented, ...cx.store.eventTypes().streams])
    return { aggregateTypes: [...names].map((name) => toAggregateType(cx, name)) }
  },
  listFailedEvents: (_, cx) => ({
    result: listFailedEvents(cx.store, cx.instance).map(toFailedEvent),
  }),
  removeFailedEvent: async (req, cx) => {
    await removeFailed(cx, req, cx.instance)
    return {}
  },
})

export const system = bindHandlers<Cx>()(SystemService, {
  listFailedEvents: (_, cx) => ({ result: listFailedEvents(cx.store).map(toFailedEvent) }),
  removeFailedEvent: async (req, cx) => {
    await removeFailed(cx, req, req.instanceId || undefined)
    return {}
  },
})

/** An empty field of the request means no filter. */
function searchOf(req: ListEventsRequest): EventSearch {
  const { case: named, value } = req.creationDateFilter
  const { since = undefined, until = undefined } = named === "range" ? value : {}
  const from = named === "from" ? value : req.creationDate
  const listed = (names: readonly string[]) => (names.length > 0 ? names : undefined)
  const timeOf = (date: Timestamp | undefined) => date && timestampMs(date)
  return {
    types: listed(req.eventTypes),
    streams: listed(req.aggregateTypes),
    id: req.aggregateId || undefined,
    editor: req.editorUserId || undefined,
    owner: req.resourceOwner || undefined,
    since: timeOf(since ?? from),
    until: timeOf(until),
  }
}

const toEvent = (cx: Cx, event: PresentedEvent, editor: Editor) => ({
  editor: { userId: editor.id, displayName: editor.name, service: event.editor.client },
  aggregate: {
    id: event.id,
    type: toAggregateType(cx, event.stream),
    resourceOwner: event.owner,
    displayName: event.name,
  },
  sequence: BigInt(event.position),
  creationDate: toTimestamp(event.time),
  payload: JSON.parse(JSON.stringify(event.data)),
  type: toType(cx, event.type, event.storedType),
})

/** The message describes the stored type, which is more specific than the presented one. */
const toType = (cx: Cx, type: string, stored: string) => ({
  type,
  localized: { key: `EventTypes.${type}`, localizedMessage: eventTitle(cx, stored) },
})

const toAggregateType = (cx: Cx, stream: string) => ({
  type: stream,
  localized: { key: `AggregateTypes.${stream}`, localizedMessage: streamTitle(cx, stream) },
})

const toFailedEvent = ({ reactor, position, failures, error, last }: FailedEvent) => ({
  database: databaseName,
  viewName: reactor,
  failedSequence: BigInt(position),
  failureCount: BigInt(failures),
  errorMessage: error,
  ...(last > 0 && { lastFailed: toTimestamp(last) }),
})
