// A small app with the real API definition and fake modules, whose handlers answer from maps.

import type { Authority, Membership, OwnerChain } from "../../src/api/access.ts"
import { allServices } from "../../src/api/book.ts"
import { type CallEnd, createEntries, type Entry, type Pipeline } from "../../src/api/dispatch.ts"
import type { Operation } from "../../src/api/method.ts"
import { createApiHandler } from "../../src/api/routes.ts"
import { type Clock, manualClock } from "../../src/kernel/clock.ts"
import type { Call } from "../../src/kernel/context.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { createDataKey, purposes, secretsOf } from "../../src/kernel/crypto/secret.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { createIds } from "../../src/kernel/id.ts"
import { unreachableOutside } from "../support/outside.ts"

export type Cx = Call & { wrote?: number }

/** The response of a fake handler to a request; it can read the context. */
export type Answer = (request: never, cx: Cx) => unknown

export type World = {
  readonly entries: readonly Entry[]
  readonly fetch: (path: string, init?: RequestInit & { as?: string }) => Promise<Response>
  /** Calls that have ended, oldest first. */
  readonly ended: CallEnd[]
  /** Requests that reached a handler, with their contexts. */
  readonly handled: { method: string; request: unknown; cx: Cx }[]
  readonly clock: Clock & { readonly advance: (ms: number) => void }
}

const grantOnP1: OwnerChain = {
  ...({ instance: true, org: "o1", project: "p1" } as const),
  grant: "g1",
  parent: "p1",
}

/** Two organizations, each with a project, an application, and a user. */
export const chains: Readonly<Record<string, Readonly<Record<string, OwnerChain>>>> = {
  org: { o1: { instance: true, org: "o1" }, o2: { instance: true, org: "o2" } },
  project: {
    p1: { instance: true, org: "o1", project: "p1" },
    p2: { instance: true, org: "o2", project: "p2" },
  },
  app: {
    a1: { instance: true, org: "o1", project: "p1", parent: "p1" },
    a2: { instance: true, org: "o2", project: "p2", parent: "p2" },
  },
  app_key: {
    k1: { instance: true, org: "o1", project: "p1", parent: "p1" },
    k2: { instance: true, org: "o2", project: "p2", parent: "p2" },
  },
  sign_up_request: { q1: { instance: true, org: "o1" }, q2: { instance: true, org: "o2" } },
  sign_up_link: { l1: { instance: true, org: "o1" }, l2: { instance: true, org: "o2" } },
  user: {
    u1: { instance: true, org: "o1", user: "u1" },
    u2: { instance: true, org: "o2", user: "u2" },
    owner: { instance: true, org: "o1", user: "owner" },
    nobody: { instance: true, org: "o1", user: "nobody" },
  },
  idp: { i1: { instance: true, org: "o1" } },
  group: { g1: { instance: true, org: "o1" } },
  action: { s1: { instance: true, org: "o1" } },
  session: { s1: { instance: true, org: "o1", user: "u1" } },
  org_domain: { "o1.example.com": { instance: true, org: "o1" } },
  authorization: { z1: { instance: true, org: "o1", project: "p1" } },
  group_authorization: { z2: { instance: true, org: "o1", project: "p1" } },
  grant_id: { g1: grantOnP1 },
  shared_project: {
    p1: { instance: true, org: "o1", project: "p1", shared: ({ id }) => id === "o2" },
  },
  held_project: {
    "o1@p1": { instance: true, org: "o1", project: "p1", parent: "p1" },
    "o2@p1": { instance: true, org: "o2", grant: "g1", parent: "p1" },
  },
  grant: { "o2@p1": grantOnP1 },
}

const roles: Readonly<Record<string, readonly string[]>> = {
  EVERYTHING: [
    "iam.read",
    "iam.web_key.read",
    "iam.web_key.write",
    "org.create",
    "org.read",
    "user.read",
    "user.write",
    "user.delete",
    "project.read",
    "project.write",
    "project.create",
    "project.grant.write",
    "project.app.read",
    "project.app.write",
    "project.role.write",
    "project.role.delete",
    "iam.member.read",
    "iam.member.write",
    "org.member.read",
    "org.member.write",
    "project.member.read",
    "org.action.delete",
  ],
  USERS: ["user.read", "user.write"],
  PROJECT: ["project.read", "project.write", "project.app.write", "project.member.read"],
  ORG_MEMBERS: ["org.member.read", "org.member.write"],
  GRANT: ["project.grant.member.write", "project.grant.member.read"],
  SELF: ["user.self.delete"],
}

/** Users and their roles; the name of a user is also their bearer token. */
export const people: Readonly<Record<string, { org: string; memberships: Membership[] }>> = {
  owner: { org: "o1", memberships: [{ level: "instance", id: "i1", roles: ["EVERYTHING"] }] },
  manager1: { org: "o1", memberships: [{ level: "org", id: "o1", roles: ["EVERYTHING"] }] },
  manager2: { org: "o2", memberships: [{ level: "org", id: "o2", roles: ["EVERYTHING"] }] },
  users1: { org: "o1", memberships: [{ level: "org", id: "o1", roles: ["USERS"] }] },
  project1: { org: "o1", memberships: [{ level: "project", id: "p1", roles: ["PROJECT"] }] },
  orgmembers: { org: "o1", memberships: [{ level: "instance", id: "i1", roles: ["ORG_MEMBERS"] }] },
  grant1: { org: "o2", memberships: [{ level: "grant", id: "g1", roles: ["GRANT"] }] },
  visitor: { org: "o2", memberships: [{ level: "project", id: "p1", roles: ["PROJECT"] }] },
  holder: { org: "o3", memberships: [{ level: "grant", id: "g1", roles: ["GRANT"] }] },
  u1: { org: "o1", memberships: [{ level: "org", id: "o1", roles: ["SELF"] }] },
  u2: { org: "o2", memberships: [] },
  nobody: { org: "o1", memberships: [] },
}

/** Kinds that are named by an organization, and the project. */
const byParent: ReadonlySet<string> = new Set(["grant", "held_project"])

export const authority: Authority<Cx> = {
  resources: Object.fromEntries(
    Object.entries(chains).map(([kind, byId]) => [
      kind,
      (_cx: Cx, id: string, parent?: string) => byId[byParent.has(kind) ? `${id}@${parent}` : id],
    ]),
  ),
  keys: {},
  memberships: (_cx, userId) => people[userId]?.memberships ?? [],
  permissions: (role) => new Set(roles[role]),
  outranks: () => true,
  outranksStoppers: () => true,
  outranksAll: () => true,
  outranksInstance: () => true,
  isActive: () => true,
}

/** Creates the context of a call; `token` is a name of `people`. */
export function contextOf(token: string | null, more: Partial<Cx> = {}): Cx {
  const clock = manualClock(1_700_000_000_000)
  const person = token === null ? undefined : people[token]
  if (token !== null && !person) {
    throw new Fault("unauthenticated", "token.invalid", "the token is not valid")
  }
  return {
    clock,
    ids: createIds(clock),
    random: systemRandom,
    secrets,
    outside: unreachableOutside,
    warn: () => {},
    instance: "i1",
    caller: person
      ? { kind: "user", userId: token ?? "", orgId: person.org, clientId: "c1" }
      : { kind: "anonymous" },
    requestId: "r1",
    languages: [],
    ...more,
  }
}

const masterKey = systemRandom.bytes(32)
const secrets = secretsOf(
  systemRandom,
  masterKey,
  purposes.map((purpose) => ({ ...createDataKey(systemRandom, masterKey, purpose), active: true })),
)

/** The API with fake responses; a method without one returns an empty message. */
export function operationsOf(
  answers: Readonly<Record<string, Answer>>,
  handled: World["handled"] = [],
): readonly Operation<Cx>[] {
  return allServices.flatMap((service) =>
    service.methods.map((method): Operation<Cx> => {
      const name = `${service.typeName}/${method.name}`
      const handler = (request: unknown, cx: Cx) => {
        handled.push({ method: name, request, cx })
        return answers[name]?.(request as never, cx) ?? {}
      }
      return { method, handler }
    }),
  )
}

export function worldOf(
  answers: Readonly<Record<string, Answer>> = {},
  more: Partial<Pipeline<Cx>> = {},
): World {
  const clock = manualClock(1_700_000_000_000)
  const ended: CallEnd[] = []
  const handled: World["handled"] = []
  const entries = createEntries<Cx>({
    operations: operationsOf(answers, handled),
    authority,
    authenticate: async (headers, { requestId }) => {
      const token = /^Bearer (.+)$/.exec(headers.get("authorization") ?? "")?.[1] ?? null
      const orgId = headers.get("x-core-orgid")
      return contextOf(token, { requestId, ...(orgId ? { orgId } : {}) })
    },
    position: (cx) => cx.wrote,
    hooks: [{ ended: (call) => void ended.push(call) }],
    clock,
    ids: createIds(clock),
    ...more,
  })
  const handle = createApiHandler(entries)
  return {
    entries,
    ended,
    handled,
    clock,
    fetch: async (path, { as, ...init } = {}) => {
      const request = new Request(`http://id.test${path}`, init)
      if (as) request.headers.set("authorization", `Bearer ${as}`)
      return (
        (await handle(request, { address: "10.0.0.7" })) ?? new Response("nobody", { status: 599 })
      )
    },
  }
}

/** A request with a JSON body. */
export const json = (body: unknown, more: RequestInit = {}): RequestInit => ({
  method: "POST",
  body: typeof body === "string" ? body : JSON.stringify(body),
  ...more,
  headers: { "content-type": "application/json", ...more.headers },
})
