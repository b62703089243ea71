import type { JsonObject } from "@bufbuild/protobuf"
import { fromJson } from "@bufbuild/protobuf"
import { timestampMs, type Value, ValueSchema } from "@bufbuild/protobuf/wkt"
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
import type { Difference, Json } from "../difference.ts"
import { retryFailed } from "../event.ts"
import { type Changed, changesIn, compare, type Moment } from "../past.ts"
import { clientNameOf, editorsOf } from "../query.ts"
import { isUndoable, kindOf, type Place, readHistory } from "../resource.ts"
import { sequenceOf, wordsOf, wordsOfPath } from "../words.ts"

export const v2 = share<Cx>()(HistoryService, {
  listChanges: async ({ resource, limit, sequence, asc }, cx) => {
    const part = { from: sequenceOf(sequence), asc, limit: limitOf(limit) }
    const place = await placeOf(cx, resource)
    const changes = await changesIn(cx, place, part)
    const toChange = changing(cx, place, mayWrite(cx, resource))
    return { changes: changes.map(toChange) }
  },
  getDifferences: async ({ resource, from, to }, cx) => {
    const moments = { from: momentOf(from), to: momentOf(to) }
    const { existed, last, differences } = await compare(cx, await placeOf(cx, resource), moments)
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

export async function placeOf(cx: Cx, resource: Resource | undefined): Promise<Place> {
  const named = resource?.resource
  if (!named?.case) throw new Error("the access rule lets nothing pass that is not named")
  const place = named.case === "stream" ? named.value : { kind: resources[named.case][0], id: "" }
  const kind = kindOf(cx, place.kind)
  const history = await readHistory(kind)
  if (named.case === "policiesOf") return { kind, history, id: policiesId(named.value) }
  if (named.case === "identityProvidersOf") return { kind, history, id: idpsId(named.value) }
  if (named.case !== "stream") return { kind, history, id: named.value }
  // Callers who can read events cannot read what is personal in users.
  const isImpersonal = place.kind === "user" && !cx.holds?.("user.read")
  const id = place.id || ownIdOf(cx, place.kind)
  return { kind, id, history: isImpersonal ? { ...history, personal: [] } : history }
}

/** Of what an instance has one of, the id where nobody says it. */
function ownIdOf({ instance }: Cx, kind: string): string {
  if (kind === "policy") return policiesId(undefined)
  return kind === "idps" ? idpsId(undefined) : instance
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

/** Whether an undo is worth offering: whoever may only look is refused each. */
function mayWrite(cx: Cx, resource: Resource | undefined): boolean {
  const named = resource?.resource
  if (!named?.case) return false
  return cx.holds?.(resources[named.case][1]) ?? false
}

function changing(cx: Cx, { history }: Place, isWriter: boolean) {
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
      undoable: isWriter && !isBack && isUndoable(history, event.type),
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
