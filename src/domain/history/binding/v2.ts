import type { JsonObject } from "@bufbuild/protobuf"
import { fromJson } from "@bufbuild/protobuf"
import { timestampMs, ValueSchema } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import {
  HistoryService,
  type Moment as MomentMessage,
  type Resource,
} from "../../../gen/core/history/v2/history_service_pb.ts"
import { presentedType } from "../../../kernel/event/name.ts"
import { Fault } from "../../../kernel/fault.ts"
import { toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx, NodeStatus } from "../../../store/index.ts"
import { ownerStreamId as idpsId } from "../../idp/index.ts"
import { instanceIds } from "../../instance/index.ts"
import { policiesId } from "../../policy/index.ts"
import type { Difference } from "../difference.ts"
import { retryFailed } from "../failed-event.ts"
import { type ChangedEvent, compareMoments, listChanges, type Moment } from "../past.ts"
import { clientNameOf, editorsOf, type RecordedEvent } from "../query.ts"
import { isUndoable, readHistory, requireKind } from "../resource.ts"
import { eventTitle, fieldTitle, parseSequence } from "../words.ts"

export const v2 = bindHandlers<Cx>()(HistoryService, {
  listChanges: async ({ resource, limit, sequence, asc }, cx) => {
    const part = { from: parseSequence(sequence), asc, limit: parseLimit(limit) }
    const place = await resolveResource(cx, resource)
    const changes = await listChanges(cx, place, part)
    const editors = editorsOf(cx)
    return { changes: changes.map((change) => toChange(cx, place, change, editors)) }
  },
  getDifferences: async ({ resource, from, to }, cx) => {
    const moments = { from: parseMoment(from), to: parseMoment(to) }
    const { existed, last, differences } = await compareMoments(
      cx,
      await resolveResource(cx, resource),
      moments,
    )
    const when = last && { sequence: BigInt(last.version), changeDate: toTimestamp(last.time) }
    return { existed, ...when, differences: differences.map((each) => toDifference(cx, each)) }
  },
  retryFailedEvents: (req, cx) => retryFailed(cx, req, cx.instance),
  retrySystemFailedEvents: (req, cx) => retryFailed(cx, req, req.instanceId || undefined),
  listNodes: (_, { store, clock }) => {
    // Servers, their versions, and their load are shared by all instances.
    if (instanceIds(store).length > 1) throw sharedServersError()
    const nodes = store.node?.standing() ?? []
    return { nodes: nodes.map((node) => toNode(node, clock.now())) }
  },
})

const sharedServersError = () =>
  new Fault(
    "permission_denied",
    "history.nodes_shared",
    "several instances share these servers; the operator can list them with latchkey doctor",
  )

const toNode = (node: NodeStatus, now: number) => ({
  number: node.part,
  isSelf: node.isSelf,
  version: node.version,
  works: node.leads,
  position: BigInt(node.position),
  behind: BigInt(node.behind),
  seen: toTimestamp(now - node.seenMs),
})

const [limitMax, limitDefault] = [100, 20]

function parseLimit(limit: number): number {
  if (limit <= limitMax) return limit || limitDefault
  throw new Fault(
    "invalid_argument",
    "page.limit_too_large",
    `limit must be at most ${limitMax}, but was ${limit}; use sequence to request further ` +
      "changes",
  )
}

/** The stream of each kind of resource in a request, and the permission to change it. */
const resources = {
  userId: ["user", "user.write"],
  organizationId: ["org", "org.write"],
  projectId: ["project", "project.write"],
  applicationId: ["app", "project.app.write"],
  projectGrantId: ["projectgrant", "project.grant.write"],
  authorizationId: ["usergrant", "user.grant.write"],
  groupId: ["group", "group.write"],
  actionId: ["action", "org.action.write"],
  policiesOf: ["policy", "policy.write"],
  // Changes to the list of allowed providers can be undone; changes to a provider can't.
  identityProvidersOf: ["idps", "policy.write"],
  stream: ["", "iam.write"],
} as const

/** The IDs of streams that exist once for each organization and once for the instance. */
const idsByOrg: Readonly<Record<string, (orgId: string | undefined) => string>> = {
  policy: policiesId,
  idps: idpsId,
}

/** Resolves a resource; `isWriter`: whether the caller can change it and therefore undo changes. */
export async function resolveResource(cx: Cx, resource: Resource | undefined) {
  const named = resource?.resource
  if (!named?.case) throw new Error("the access rule requires a resource")
  const [stream, permission] = resources[named.case]
  const isWriter = cx.holds?.(permission) ?? false
  if (named.case !== "stream") {
    const kind = requireKind(cx, stream)
    const id = idsByOrg[stream]?.(named.value) ?? named.value
    return { kind, id, history: await readHistory(kind), isWriter }
  }
  const kind = requireKind(cx, named.value.kind)
  const id = named.value.id || (idsByOrg[kind.stream]?.(undefined) ?? cx.instance)
  const history = await readHistory(kind)
  // The permission to read events does not include personal data of users.
  const isImpersonal = kind.stream === "user" && !cx.holds?.("user.read")
  return { kind, id, history: isImpersonal ? { ...history, personal: [] } : history, isWriter }
}

function parseMoment(message: MomentMessage | undefined): Moment | undefined {
  const moment = message?.moment
  if (moment?.case === "time") return { time: timestampMs(moment.value) }
  const position = moment?.case === "position" ? parseSequence(moment.value) : undefined
  return position === undefined ? undefined : { position }
}

/** The user and client that caused an event; `editors` looks up each name once. */
export function toEditor(cx: Cx, event: RecordedEvent, editors = editorsOf(cx)) {
  const { id, name, loginName } = editors(event)
  return {
    userId: id,
    displayName: name,
    loginName,
    requestId: event.correlation,
    clientId: event.editor.client,
    clientName: clientNameOf(cx, event.editor),
  }
}

function toChange(
  cx: Cx,
  { history, isWriter }: Awaited<ReturnType<typeof resolveResource>>,
  { event, differences, isBack }: ChangedEvent,
  editors: ReturnType<typeof editorsOf>,
) {
  const payload: JsonObject = JSON.parse(JSON.stringify(event.data))
  return {
    sequence: BigInt(event.version),
    position: BigInt(event.position),
    changeDate: toTimestamp(event.time),
    type: presentedType(event),
    words: eventTitle(cx, event.type),
    editor: toEditor(cx, event, editors),
    differences: differences.map((each) => toDifference(cx, each)),
    payload,
    undoable: isWriter && !isBack && isUndoable(history, event.type),
  }
}

export function toDifference(cx: Cx, { path, before, after }: Difference) {
  const [was, is] = [shortenedValue(before), shortenedValue(after)]
  return {
    path: [...path],
    words: fieldTitle(cx, path),
    ...(was && { before: was.value }),
    ...(is && { after: is.value }),
    shortened: was?.isShortened || is?.isShortened || false,
  }
}

/** Only values that no one compares by eye, such as scripts and SAML metadata, are longer. */
const textMax = 2000

function shortenedValue(json: string | undefined) {
  if (json === undefined) return undefined
  const value = JSON.parse(json)
  const text = typeof value === "string" ? value : json
  const isShortened = text.length > textMax
  const shown = isShortened ? `${text.slice(0, textMax)}…` : value
  return { isShortened, value: fromJson(ValueSchema, shown) }
}
