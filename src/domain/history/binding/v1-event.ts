import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import type { ListEventsRequest } from "../../../gen/core/admin/v1/event_pb.ts"
import { SystemService } from "../../../gen/core/system/v1/system_service_pb.ts"
import { listedNames } from "../../../kernel/event/name.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at } from "../../../protocol/api/answer.ts"
import { type Cx, type FailedEvent, failedEvents } from "../../../store/index.ts"
import { type EventSearch, eventsOf, type PresentedEvent, storedTypes } from "../event.ts"
import { databaseName, removeFailed } from "../failed-event.ts"
import { type Editor, editorsOf } from "../query.ts"
import { sequenceOf, wordsOf, wordsOfStream } from "../words.ts"

export const admin = share<Cx>()(AdminService, {
  listEvents: async (req, cx) => {
    const { limit, asc } = pageOf(req)
    const events = await eventsOf(cx, searchOf(req), { limit, asc, from: sequenceOf(req.sequence) })
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
    return { aggregateTypes: [...names].map((name) => toKind(cx, name)) }
  },
  listFailedEvents: (_, cx) => ({ result: failedEvents(cx.store, cx.instance).map(toFailed) }),
  removeFailedEvent: async (req, cx) => {
    await removeFailed(cx, req, cx.instance)
    return {}
  },
})

export const system = share<Cx>()(SystemService, {
  listFailedEvents: (_, cx) => ({ result: failedEvents(cx.store).map(toFailed) }),
  removeFailedEvent: async (req, cx) => {
    await removeFailed(cx, req, req.instanceId || undefined)
    return {}
  },
})

/** Empty is what a filter says that does not say it. */
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
    type: toKind(cx, event.stream),
    resourceOwner: event.owner,
    displayName: event.name,
  },
  sequence: BigInt(event.position),
  creationDate: at(event.time),
  payload: JSON.parse(JSON.stringify(event.data)),
  type: toType(cx, event.type, event.storedType),
})

/** The words are those of the stored type, which say what happened here. */
const toType = (cx: Cx, type: string, stored: string) => ({
  type,
  localized: { key: `EventTypes.${type}`, localizedMessage: wordsOf(cx, stored) },
})

const toKind = (cx: Cx, stream: string) => ({
  type: stream,
  localized: { key: `AggregateTypes.${stream}`, localizedMessage: wordsOfStream(cx, stream) },
})

const toFailed = ({ reactor, position, failures, error, last }: FailedEvent) => ({
  database: databaseName,
  viewName: reactor,
  failedSequence: BigInt(position),
  failureCount: BigInt(failures),
  errorMessage: error,
  ...(last > 0 && { lastFailed: at(last) }),
})
