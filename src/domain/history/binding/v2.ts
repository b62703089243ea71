import type { JsonObject } from "@bufbuild/protobuf"
import { fromJson } from "@bufbuild/protobuf"
import { timestampMs, ValueSchema } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import {
  HistoryService,
  type Moment as MomentMessage,
  type Resource,
} from "../../../gen/core/history/v2/history_service_pb.ts"
import { presentedType } from "../../../kernel/event/name.ts"
import { Fault } from "../../../kernel/fault.ts"
import { at } from "../../../protocol/api/answer.ts"
import type { Cx, NodeStanding } from "../../../store/index.ts"
import { placeId as idpsId } from "../../idp/index.ts"
import { instanceIds } from "../../instance/index.ts"
import { policiesId } from "../../policy/index.ts"
import type { Difference } from "../difference.ts"
import { retryFailed } from "../failed-event.ts"
import { type Changed, changesIn, compare, type Moment } from "../past.ts"
import { clientNameOf, editorsOf, type RecordedEvent } from "../query.ts"
import { isUndoable, kindOf, readHistory } from "../resource.ts"
import { sequenceOf, wordsOf, wordsOfPath } from "../words.ts"

export const v2 = share<Cx>()(HistoryService, {
  listChanges: async ({ resource, limit, sequence, asc }, cx) => {
    const part = { from: sequenceOf(sequence), asc, limit: limitOf(limit) }
    const place = await placeOf(cx, resource)
    const changes = await changesIn(cx, place, part)
    const editors = editorsOf(cx)
    return { changes: changes.map((change) => toChange(cx, place, change, editors)) }
  },
  getDifferences: async ({ resource, from, to }, cx) => {
    const moments = { from: momentOf(from), to: momentOf(to) }
    const { existed, last, differences } = await compare(cx, await placeOf(cx, resource), moments)
    const when = last && { sequence: BigInt(last.version), changeDate: at(last.time) }
    return { existed, ...when, differences: differences.map((each) => toDifference(cx, each)) }
  },
  retryFailedEvents: (req, cx) => retryFailed(cx, req, cx.instance),
  retrySystemFailedEvents: (req, cx) => retryFailed(cx, req, req.instanceId || undefined),
  listNodes: (_, { store, clock }) => {
    // Servers, their versions and how much goes on are those of all instances.
    if (instanceIds(store).length > 1) throw sharedServersError()
    const nodes = store.node?.standing() ?? []
    return { nodes: nodes.map((node) => toNode(node, clock.now())) }
  },
})

const sharedServersError = () =>
  new Fault(
    "permission_denied",
    "history.nodes_shared",
    "several instances share these servers; whoever runs them sees them by latchkey doctor",
  )

const toNode = (node: NodeStanding, now: number) => ({
  number: node.part,
  isSelf: node.isSelf,
  version: node.version,
  works: node.leads,
  position: BigInt(node.position),
  behind: BigInt(node.behind),
  seen: at(now - node.seenMs),
})

const [limitMax, limitDefault] = [100, 20]

function limitOf(limit: number): number {
  if (limit <= limitMax) return limit || limitDefault
  throw new Fault(
    "invalid_argument",
    "page.limit_too_large",
    `limit must be at most ${limitMax}, ${limit} was given; use sequence to read further changes`,
  )
}

/** The streams of resources that requests name, and the permission to change such a thing. */
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
  // Which of them people may use can be undone; what they are, not.
  identityProvidersOf: ["idps", "policy.write"],
  stream: ["", "iam.write"],
} as const

/** IDs of streams that each organization has one of, and the instance. */
const idsByOrg: Readonly<Record<string, (orgId: string | undefined) => string>> = {
  policy: policiesId,
  idps: idpsId,
}

/** A resource; `isWriter`: whether the caller can change it, so that an undo is worth offering. */
export async function placeOf(cx: Cx, resource: Resource | undefined) {
  const named = resource?.resource
  if (!named?.case) throw new Error("the access rule lets nothing pass that is not named")
  const [stream, permission] = resources[named.case]
  const isWriter = cx.holds?.(permission) ?? false
  if (named.case !== "stream") {
    const kind = kindOf(cx, stream)
    const id = idsByOrg[stream]?.(named.value) ?? named.value
    return { kind, id, history: await readHistory(kind), isWriter }
  }
  const kind = kindOf(cx, named.value.kind)
  const id = named.value.id || (idsByOrg[kind.stream]?.(undefined) ?? cx.instance)
  const history = await readHistory(kind)
  // Callers who can read events cannot read what is personal in users.
  const isImpersonal = kind.stream === "user" && !cx.holds?.("user.read")
  return { kind, id, history: isImpersonal ? { ...history, personal: [] } : history, isWriter }
}

function momentOf(message: MomentMessage | undefined): Moment | undefined {
  const moment = message?.moment
  if (moment?.case === "time") return { time: timestampMs(moment.value) }
  const position = moment?.case === "position" ? sequenceOf(moment.value) : undefined
  return position === undefined ? undefined : { position }
}

/** Who did it, with what; `editors` looks up each name once. */
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
  { history, isWriter }: Awaited<ReturnType<typeof placeOf>>,
  { event, differences, isBack }: Changed,
  editors: ReturnType<typeof editorsOf>,
) {
  const payload: JsonObject = JSON.parse(JSON.stringify(event.data))
  return {
    sequence: BigInt(event.version),
    position: BigInt(event.position),
    changeDate: at(event.time),
    type: presentedType(event),
    words: wordsOf(cx, event.type),
    editor: toEditor(cx, event, editors),
    differences: differences.map((each) => toDifference(cx, each)),
    payload,
    undoable: isWriter && !isBack && isUndoable(history, event.type),
  }
}

export function toDifference(cx: Cx, { path, before, after }: Difference) {
  const [was, is] = [shortened(before), shortened(after)]
  return {
    path: [...path],
    words: wordsOfPath(cx, path),
    ...(was && { before: was.value }),
    ...(is && { after: is.value }),
    shortened: was?.isShortened || is?.isShortened || false,
  }
}

/** No value of ours that is worth comparing by eye is longer; scripts and metadata of SAML are. */
const textMax = 2000

function shortened(json: string | undefined) {
  if (json === undefined) return undefined
  const value = JSON.parse(json)
  const text = typeof value === "string" ? value : json
  const isShortened = text.length > textMax
  const shown = isShortened ? `${text.slice(0, textMax)}…` : value
  return { isShortened, value: fromJson(ValueSchema, shown) }
}
