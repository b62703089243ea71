// The history of any event: its log contains two events of one resource, which produce the states
// of a sample.
import { type Message, toJson } from "@bufbuild/protobuf"
import { allServices } from "../../../src/api/book.ts"
import { nameOf } from "../../../src/api/method.ts"
import { shares } from "../../../src/domain/history/api.ts"
import { aggregates, views } from "../../../src/server/modules.ts"
import type { AnyAggregate, Cx } from "../../../src/store/index.ts"
import { callOperation } from "../../support/call-operation.ts"
import { openTestEnvironment } from "../../support/test-environment.ts"

import * as apps from "./app-samples.ts"
import type { Sample } from "./sample.ts"
import * as sampled from "./samples.ts"

export const world = openTestEnvironment({ aggregates, views })

type EventCase = { readonly stream: string; readonly type: string; readonly sample: Sample }

/** The fields that these events change, if another event of the same operation changes more. */
const changedFields: Readonly<Record<string, readonly string[]>> = {
  "org.changed": ["name"],
  "org.oidc.settings.set": ["oidc"],
  "project.application.changed": ["name"],
  "project.application.config.api.changed": ["api"],
  "project.application.config.oidc.changed": ["oidc"],
  "project.application.config.saml.changed": ["saml"],
  "user.human.profile.changed": ["profile"],
  "user.machine.changed": ["name", "description", "accessTokenType", "jwtType", "jwtAlgorithm"],
  "user.username.changed": ["userName"],
}

/** The states of a resource before and after an event. */
export function eventSample(stream: string, type: string): Sample {
  const { before, after } = sampleOf(stream, type)
  const keys = changedFields[type]
  const changed = Object.entries(after).filter(([key]) => !keys || keys.includes(key))
  return { before, after: { ...before, ...Object.fromEntries(changed) } }
}

/** The states of a resource; for users and applications, of the kind that has such events. */
export function sampleOf(stream: string, type: string): Sample {
  if (stream === "user") return /user\.(machine|pat)/.test(type) ? sampled.machines : sampled.humans
  if (stream !== "app") return sampled.samples[stream] ?? { before: {}, after: {} }
  if (type.includes(".saml.")) return apps.samlApps
  return type.includes(".api.") ? apps.apiApps : apps.oidcApps
}

const ids: Readonly<Record<string, string>> = {
  flow: "org1/2",
  secret_generator: "otp_sms",
  execution: "request/core.user.v2.UserService",
  group_user: "g1/u1",
  message_providers: "email",
}
const memberIds = { org: "org/org1/u1", project: "project/p1/u1", grant: "grant/g1/u1" }

function idOf({ stream, type }: EventCase): string {
  if (stream !== "member") return ids[stream] ?? "id1"
  const level = type.startsWith("org.") ? "org" : type.includes(".grant.") ? "grant" : "project"
  return memberIds[level]
}

/** A proxy of an object with some members replaced. */
const withMembers = <T extends object>(target: T, replaced: object): T =>
  new Proxy(target, {
    get: (_, name) => {
      if (Object.hasOwn(replaced, name)) return Reflect.get(replaced, name)
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === "function" ? member.bind(target) : member
    },
  })

/**
 * A call with a store that contains two events of one resource; the second is the one under test.
 */
function callOn(past: EventCase, requests: string[]): Cx {
  const { stream, type, sample } = past
  const event = (version: number, state: object) => ({
    instance: "i1",
    stream,
    id: idOf(past),
    type,
    version,
    position: version,
    time: version,
    data: sampled.payload,
    private: sampled.metadataPayload,
    editor: { user: "u1", client: "" },
    owner: "org1",
    correlation: "",
    state,
  })
  const { before, after, now } = sample
  const later = now ? [{ ...event(3, now), type: "another" }] : []
  const events = [event(1, before), event(2, after), ...later]
  const others: Readonly<Record<string, object | undefined>> = {
    projectgrant: sampled.samples.projectgrant?.after,
    secret_generator: sampled.samples.secret_generator?.after,
  }
  const cx = world.cx()
  const log = withMembers(cx.store.log, {
    settle: async () => {},
    at: async () => events.slice(1),
    history: async ({ from = 0 }) => events.filter(({ version }) => version > from),
  })
  const store: Cx["store"] = withMembers(cx.store, {
    log,
    fold: (state: unknown, each: { readonly private: unknown; readonly state: object }) =>
      each.private === null && isPersonal.on ? state : each.state,
    state: (call: Cx, kind: AnyAggregate, id: string) =>
      others[kind.stream] ?? cx.store.state(call, kind as never, id),
    rehearse: () => store,
  })
  const operate = async (operation: string, request: object) => {
    requests.push(`${operation} ${JSON.stringify(jsonOf(operation, request as Message))}`)
  }
  return { ...cx, store, holds: () => true, operate }
}

/** Whether private event data is left out of the states. */
const isPersonal = { on: false }

function jsonOf(operation: string, request: Message) {
  const methods = allServices.flatMap(({ methods }) => [...methods])
  const method = methods.find((each) => nameOf(each) === operation)
  if (!method) throw new Error(`no operation ${operation}`)
  return toJson(method.input, request)
}

const resourceOf = (past: EventCase) => ({
  resource: {
    resource: { case: "stream", value: { instance: true, kind: past.stream, id: idOf(past) } },
  },
})

/** The title of an event, whether an undo is offered, and its request or the reason for none. */
export async function describedEvent(past: EventCase) {
  const requests: string[] = []
  const cx = callOn(past, requests)
  const { changes } = await callOperation(shares, "listChanges", cx, {
    ...resourceOf(past),
    asc: true,
  })
  const [, { words, undoable }] = changes
  const { refusal } = await callOperation(shares, "getUndo", cx, {
    ...resourceOf(past),
    sequence: 2n,
  })
  return { title: words, isOffered: undoable, undo: requests[0] ?? refusal }
}

/** The shown fields of a resource. Those with private event data are marked with a star. */
export async function shownFields(past: EventCase): Promise<readonly string[]> {
  const paths = async () => {
    const { changes } = await callOperation(
      shares,
      "listChanges",
      callOn(past, []),
      resourceOf(past),
    )
    return new Set<string>(
      changes.flatMap(({ differences }: any) => differences.map(({ path }: any) => path.join("."))),
    )
  }
  const all = await paths()
  isPersonal.on = true
  const personal = await paths()
  isPersonal.on = false
  return [...all].map((path) => (personal.has(path) ? `${path}*` : path)).toSorted()
}
