import type { JsonObject } from "@bufbuild/protobuf"
import { fromJson } from "@bufbuild/protobuf"
import { timestampMs, type Value, ValueSchema } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import {
  HistoryService,
  type Moment as MomentMessage,
  type Resource,
} from "../../../gen/core/history/v2/history_service_pb.ts"
import { at } from "../../../kernel/answer.ts"
import { presentedType } from "../../../kernel/event/name.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx, NodeStanding } from "../../../store/index.ts"
import { placeId as idpsId } from "../../idp/index.ts"
import { instanceIds } from "../../instance/index.ts"
import { policiesId } from "../../policy/index.ts"
import type { Difference, Json } from "../difference.ts"
import { retryFailed } from "../event.ts"
import { type Changed, changesIn, compare, type Moment } from "../past.ts"
import { clientNameOf, editorsOf } from "../query.ts"
import { kindOf, type Place } from "../resource.ts"
import { wayOf } from "../undo/list.ts"
import { sequenceOf, wordsOf, wordsOfPath } from "../words.ts"

export const v2 = share<Cx>()(HistoryService, {
  listChanges: async ({ resource, limit, sequence, asc }, cx) => {
    const part = { from: sequenceOf(sequence), asc, limit: limitOf(limit) }
    const place = placeOf(cx, resource)
    const changes = await changesIn(cx, place, part)
    const toChange = changing(cx, place, mayWrite(cx, resource))
    return { changes: changes.map(toChange) }
  },
  getDifferences: async ({ resource, from, to }, cx) => {
    const moments = { from: momentOf(from), to: momentOf(to) }
    const { existed, last, differences } = await compare(cx, placeOf(cx, resource), moments)
    const when = last && { sequence: BigInt(last.version), changeDate: at(last.time) }
    return { existed, ...when, differences: differences.map((each) => toDifference(cx, each)) }
  },
  retryFailedEvents: async (req, cx) => ({
    count: BigInt(await retryFailed(cx, checked(req), cx.instance)),
  }),
  listNodes: (_, { store, clock }) => {
    // Servers, their versions and how much goes on are those of all instances.
    if (instanceIds(store).length > 1) throw sharedServersError()
    const nodes = store.node?.standing() ?? []
    return { nodes: nodes.map((node) => toNode(node, clock.now())) }
  },
  retrySystemFailedEvents: async (req, cx) => ({
    count: BigInt(await retryFailed(cx, checked(req), req.instanceId || undefined)),
  }),
})

const sharedServersError = () =>
  new Fault(
    "permission_denied",
    "history.nodes_shared",
    "several instances share these servers; whoever runs them sees them by latchkey doctor",
  )

const toNode = (node: NodeStanding, now: number) => ({
  ...{ number: node.part, isSelf: node.isSelf, version: node.version, works: node.leads },
  ...{ position: BigInt(node.position), behind: BigInt(node.behind), seen: at(now - node.seenMs) },
})

/** A place in the log is no larger than what counts exactly. */
function checked<Asked extends { readonly failedSequence: bigint }>(asked: Asked): Asked {
  sequenceOf(asked.failedSequence)
  return asked
}

const [limitMax, limitDefault] = [100, 20]

function limitOf(limit: number): number {
  if (limit <= limitMax) return limit || limitDefault
  throw new Fault(
    "invalid_argument",
    "page.limit_too_large",
    `limit must be at most ${limitMax}, ${limit} was given; use sequence to read further changes`,
  )
}

/** The streams of resources that have a name of their own in a request. */
const streams = {
  userId: "user",
  organizationId: "org",
  projectId: "project",
  applicationId: "app",
  projectGrantId: "projectgrant",
  authorizationId: "usergrant",
  groupId: "group",
  actionId: "action",
  policiesOf: "policy",
  identityProvidersOf: "idps",
} as const

export function placeOf(cx: Cx, resource: Resource | undefined): Place {
  const named = resource?.resource
  if (!named?.case) throw new Error("the access rule lets nothing pass that is not named")
  if (named.case === "policiesOf") {
    return { kind: kindOf(cx, streams.policiesOf), id: policiesId(named.value) }
  }
  if (named.case === "identityProvidersOf") {
    return { kind: kindOf(cx, streams.identityProvidersOf), id: idpsId(named.value) }
  }
  if (named.case !== "stream") return { kind: kindOf(cx, streams[named.case]), id: named.value }
  const { kind, id } = named.value
  const isImpersonal = kind === streams.userId && !cx.holds?.("user.read")
  return { kind: kindOf(cx, kind), id: id || ownIdOf(cx, kind), isImpersonal }
}

/** Of what an instance has one of, the id where nobody says it. */
function ownIdOf({ instance }: Cx, kind: string): string {
  if (kind === streams.policiesOf) return policiesId(undefined)
  return kind === streams.identityProvidersOf ? idpsId(undefined) : instance
}

function momentOf(message: MomentMessage | undefined): Moment | undefined {
  const moment = message?.moment
  if (moment?.case === "time") return { time: timestampMs(moment.value) }
  const position = moment?.case === "position" ? sequenceOf(moment.value) : undefined
  return position === undefined ? undefined : { position }
}

/** Who did it, with what; names are looked up once where `named` remembers them. */
export function toEditor(
  cx: Cx,
  { editor: { user, client }, correlation }: Changed["event"],
  named = editorsOf(cx),
) {
  const { name, loginName } = named(user)
  return {
    ...{ userId: user, displayName: name, loginName, requestId: correlation },
    ...{ clientId: client, clientName: clientNameOf(cx, { user, client }) },
  }
}

/** What one changes such a thing with, as far as one permission says it. */
const writes = {
  userId: "user.write",
  organizationId: "org.write",
  projectId: "project.write",
  applicationId: "project.app.write",
  projectGrantId: "project.grant.write",
  authorizationId: "user.grant.write",
  groupId: "group.write",
  actionId: "org.action.write",
  policiesOf: "policy.write",
  // Which of them people may use can be taken back; what they are, not.
  identityProvidersOf: "policy.write",
  stream: "iam.write",
} as const

/** Whether an undo is worth offering: whoever may only look is refused each. */
function mayWrite(cx: Cx, resource: Resource | undefined): boolean {
  const named = resource?.resource
  if (!named?.case) return false
  return cx.holds?.(writes[named.case]) ?? false
}

function changing(cx: Cx, { kind }: Place, isWriter: boolean) {
  const named = editorsOf(cx)
  return ({ event, differences, isBack }: Changed) => {
    const payload: JsonObject = JSON.parse(JSON.stringify(event.data))
    return {
      sequence: BigInt(event.version),
      position: BigInt(event.position),
      changeDate: at(event.time),
      type: presentedType(event),
      words: wordsOf(cx, event.type),
      editor: toEditor(cx, event, named),
      differences: differences.map((each) => toDifference(cx, each)),
      payload,
      undoable: isWriter && !isBack && typeof (wayOf(kind, event.type) ?? "") !== "string",
    }
  }
}

export const toDifference = (cx: Cx, { path, before, after, shortened }: Difference) => ({
  path: [...path],
  words: wordsOfPath(cx, path),
  ...(before !== undefined && { before: jsonValue(before) }),
  ...(after !== undefined && { after: jsonValue(after) }),
  shortened,
})

const jsonValue = (value: Json): Value => fromJson(ValueSchema, JSON.parse(JSON.stringify(value)))
