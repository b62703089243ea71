import type { DescMethod, Message } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { authorize } from "../../../src/api/access.ts"
import { accessOf } from "../../../src/api/access-rule.ts"
import { createGroupAuthorization } from "../../../src/domain/authorization/group/commands.ts"
import { createGroup } from "../../../src/domain/group/commands.ts"
import { builtInRoles } from "../../../src/domain/member/roles.ts"
import { createSignUpLink } from "../../../src/domain/sign-up/link.ts"
import { signUpRequest } from "../../../src/domain/sign-up/model.ts"
import type { Caller } from "../../../src/kernel/context.ts"
import { authority, loadOperations } from "../../../src/server/modules.ts"
import type { Cx } from "../../../src/store/index.ts"
import { callerOf, type TestEnvironment } from "../../support/test-environment.ts"
import {
  type AccessPath,
  accessWaysOf,
  goldenRoles,
  levelsByName,
  openMatrix,
  operationRules,
  requestFor,
  requireFixture,
  systemAccessWayOf,
} from "./matrix.ts"

let world: TestEnvironment
beforeAll(async () => {
  world = await openMatrix()
  for (const name of ["alpha", "beta"]) {
    const input = { orgId: name, name: `${name}-group`, description: "" }
    const groupId = `${name}-group`
    await createGroup(world.cx(), groupId, input)
    const roles = { groupId, projectId: `${name}-project`, orgId: name, roleKeys: [] }
    await createGroupAuthorization(world.cx(), `${name}-group-authorization`, roles)
    const terms = { orgId: name, useLimit: 1, expires: world.clock.now() + 1000, domains: [] }
    await createSignUpLink(world.cx(), `${name}-link`, terms)
    await addWaiting(name)
  }
})
afterAll(() => world.close())

/** A sign-up that waits for approval by the administrators of an organization. */
async function addWaiting(orgId: string) {
  const applicant = { email: "a@example.com", givenName: "A", familyName: "B", language: "" }
  const data = { orgId, expires: world.clock.now() + 1000 }
  const added = { type: "sign_up_request.added", data, private: applicant } as const
  await world.store.transact(world.cx(), (tx) =>
    tx.append(signUpRequest, `${orgId}-request`, [added], orgId),
  )
}

/** A caller and their permissions in the golden lists. */
type Subject = {
  readonly name: string
  readonly caller: Caller
  readonly instance?: string
  readonly permissions: ReadonlySet<string>
  /** The level of the permissions; undefined outside alpha. */
  readonly on?: string | undefined
}

const noPermissions: ReadonlySet<string> = new Set()

const roleHolders: readonly Subject[] = [...goldenRoles].flatMap(
  ([name, { level, permissions }]) => {
    const on = levelsByName[level]
    return on ? [{ name, caller: callerOf(`alpha.${name}`, "alpha"), permissions, on }] : []
  },
)
const permissionsOf = (role: string) => goldenRoles.get(role)?.permissions ?? noPermissions

const anonymous: Subject = {
  name: "nobody",
  caller: { kind: "anonymous" },
  permissions: noPermissions,
}
const userWithoutRole: Subject = {
  name: "who has no role",
  permissions: noPermissions,
  caller: callerOf("alpha-user", "alpha"),
}
const otherOrgOwner: Subject = {
  name: "who owns another organization",
  caller: callerOf("beta-owner", "beta"),
  permissions: permissionsOf("ORG_OWNER"),
}
const otherInstanceOwner: Subject = {
  name: "who owns another instance",
  caller: callerOf("owner2", "home"),
  instance: "i2",
  permissions: permissionsOf("IAM_OWNER"),
}
const subjects = [anonymous, userWithoutRole, ...roleHolders, otherOrgOwner, otherInstanceOwner]

const resources = new Set(Object.keys(authority.resources))

const callOf = ({ caller, instance = "i1" }: Subject, orgId?: string): Cx => {
  const { scope: _, ...cx } = world.cx({ caller, instance, ...(orgId && { orgId }) })
  return cx
}

/** Rank has its own test: rank.test.ts. */
const unranked = {
  ...authority,
  outranks: () => true,
  outranksAll: () => true,
  outranksInstance: () => true,
}

/** Only operations on the organization of the context are called with one. */
const contextOf = (method: DescMethod): string | undefined =>
  operationRules.some((each) => each.method === method && each.rule.includes("@org"))
    ? "alpha"
    : undefined

/** "allowed", or the code of the rejection. */
function outcome(subject: Subject, method: DescMethod, request: Message, by = unranked): string {
  try {
    authorize(by, accessOf(method, resources), callOf(subject, contextOf(method)), request)
    return "allowed"
  } catch (refusal) {
    return (refusal as { readonly code: string }).code
  }
}

/** The result by the golden lists, computed independently of the code under test. */
function expectedOutcome(subject: Subject, method: AccessPath): string {
  if (subject.caller.kind === "anonymous") return "unauthenticated"
  const isForeign = subject === otherOrgOwner || subject === otherInstanceOwner
  if (isForeign && method.id === "@org") return "not_found"
  const isHeld = subject.permissions.has(method.permission)
  if (isForeign && method.id === "@home") return isHeld ? "allowed" : "permission_denied"
  const isSelf = passesAsSelf(subject, method)
  if (method.isSearch) return isHeld || isSelf ? "allowed" : "permission_denied"
  if (isSelf && isPersonal(method) && subject === userWithoutRole) return "allowed"
  if (!isHeld) return "permission_denied"
  if (subject === otherInstanceOwner) return isAboutItself(method) ? "allowed" : "not_found"
  const reaches =
    subject.on !== undefined && requireFixture(method.resource).from.some(isOnLevel(subject.on))
  return reaches ? "allowed" : "not_found"
}

const isOnLevel = (on: string) => (level: string) => level === on

/** Resources that belong to the user without a role. */
const isPersonal = ({ resource }: AccessPath) => resource === "user" || resource === "session"

const passesAsSelf = ({ permissions }: Subject, { self }: AccessPath) =>
  self === "authenticated" || (self !== "" && permissions.has(self))

const flags = [
  "",
  "resource.instance",
  "ctx.instance",
  "instance",
  "system",
  "resource.stream.instance",
]

/** An operation on the called instance, or one that a flag selects. */
const isAboutItself = ({ resource, id }: AccessPath) =>
  resource === "instance" && flags.includes(id)

/** The differences between both, by operation and access rule. */
function disagreements(subject: Subject, by = unranked): readonly string[] {
  return operationRules.flatMap(({ method, rule }) =>
    trialsOf(subject, method, rule).flatMap(([request, wanted]) => {
      const seen = outcome(subject, method, request, by)
      return seen === wanted ? [] : [`${method.name} (${rule}): ${seen}, not ${wanted}`]
    }),
  )
}

/**
 * Requests with their expected outcomes: one for each access rule, or one for all if no resource is
 * named.
 */
function trialsOf(
  subject: Subject,
  method: DescMethod,
  rule: string,
): readonly (readonly [Message, string])[] {
  const ways = accessWaysOf(rule)
  if (typeof ways === "string") return [[requestFor(method, unnamed), expectedOpen(subject, rule)]]
  if (!ways.every(({ isSearch }) => isSearch)) {
    return ways.map((mode) => [requestFor(method, mode), expectedOutcome(subject, mode)])
  }
  const each = ways.map((method) => expectedOutcome(subject, method))
  const wanted = each.includes("allowed") ? "allowed" : (each[0] ?? "")
  return [[requestFor(method, unnamed), wanted]]
}

describe("every operation is permitted to exactly the callers of the golden lists:", () => {
  test.each(subjects.map((subject) => [subject.name, subject] as const))("%s", (_, subject) => {
    expect(disagreements(subject)).toEqual([])
  })

  test.each(["SYSTEM_OWNER", "SYSTEM_OWNER_VIEWER"])("%s, without other roles", (role) => {
    const caller = { kind: "system", name: "operator", roles: [role] } as const
    const subject: Subject = { name: role, caller, permissions: permissionsOf(role) }
    const wrong = operationRules.flatMap(({ method, rule }) => {
      const way = systemAccessWayOf(rule)
      const isOpen = rule === "public" || (way && subject.permissions.has(way.permission))
      const wanted = isOpen ? "allowed" : "permission_denied"
      const seen = outcome(subject, method, requestFor(method, way ?? unnamed))
      return seen === wanted ? [] : [`${method.name} (${rule}): ${seen}, not ${wanted}`]
    })
    expect(wrong).toEqual([])
  })

  test("detects a role that permits too much or reaches too far", () => {
    const viewer = roleHolders.find(({ name }) => name === "ORG_OWNER_VIEWER") ?? userWithoutRole
    const generous = { ...unranked, permissions: () => permissionsOf("ORG_OWNER") }
    expect(disagreements(viewer, generous).length).toBeGreaterThan(20)
    const wide = { level: "instance", id: "i1", roles: ["ORG_OWNER"] } as const
    const careless = { ...unranked, memberships: () => [wide] }
    expect(disagreements(otherOrgOwner, careless).length).toBeGreaterThan(20)
  })

  test("an unknown resource is not found for callers with full access", () => {
    const owner = roleHolders.find(({ name }) => name === "IAM_OWNER") ?? userWithoutRole
    for (const { method, rule } of operationRules) {
      const ways = accessWaysOf(rule)
      if (typeof ways === "string") continue
      for (const way of ways.filter(({ id }) => id && !id.startsWith("@"))) {
        if (isAboutItself(way) || !owner.permissions.has(way.permission)) continue
        const seen = outcome(owner, method, requestFor(method, way, "nobody's"))
        expect([method.name, seen]).toEqual([method.name, "not_found"])
      }
    }
  })
})

const unnamed: AccessPath = {
  permission: "",
  resource: "instance",
  isSearch: false,
  id: "",
  parent: "",
  self: "",
}

function expectedOpen(subject: Subject, rule: string): string {
  if (rule === "public") return "allowed"
  if (subject.caller.kind === "anonymous") return "unauthenticated"
  return rule === "authenticated" ? "allowed" : "permission_denied"
}

test("the roles match the golden list, with their levels and permissions", () => {
  const levels = { "org(global)": "global", projectgrant: "grant" } as Record<string, string>
  const golden = [...goldenRoles].map(([name, { level, permissions }]) => [
    name,
    levels[level] ?? level,
    [...permissions].sort(),
  ])
  const ours = Object.entries(builtInRoles).map(([name, { level, permissions }]) => [
    name,
    level,
    [...permissions].sort(),
  ])
  expect(ours.sort()).toEqual(golden.sort())
})

/**
 * Lists over everything that the caller can read; those of one resource are rejected with the
 * resource.
 */
const lists = operationRules.filter(
  ({ method, rule }) => method.name.startsWith("List") && / search( |$)/.test(rule),
)

/** The result of a list: its rows and its total. */
async function listAs(subject: Subject, method: DescMethod) {
  const operation = (await loadOperations()).find((each) => each.method === method)
  const request = requestFor(method, unnamed)
  const cx = authorize(authority, accessOf(method, resources), callOf(subject), request)
  const answer = Object(await operation?.handler(request, cx))
  const rows = method.output.fields.filter(({ fieldKind }) => fieldKind === "list")
  const total = (answer.pagination ?? answer.details)?.totalResult
  return {
    count: rows.reduce((sum, { localName }) => sum + (answer[localName]?.length ?? 0), 0),
    total: total === undefined ? undefined : Number(total),
    text: JSON.stringify(answer, (_, value) => (typeof value === "bigint" ? `${value}` : value)),
  }
}

const canList = (subject: Subject, method: DescMethod) =>
  outcome(subject, method, requestFor(method, unnamed)) === "allowed"

describe("no list leaks a row or a total:", () => {
  test("finds lists, in which the owner sees rows of both organizations", async () => {
    const owner = roleHolders.find(({ name }) => name === "IAM_OWNER") ?? userWithoutRole
    const texts = await Promise.all(lists.map(async ({ method }) => listAs(owner, method)))
    const both = texts.filter(({ text }) => /alpha/i.test(text) && /beta/i.test(text))
    expect(both.length).toBeGreaterThanOrEqual(8)
  })

  for (const subject of subjects) {
    test(subject.name, async () => {
      for (const { method } of lists.filter(({ method }) => canList(subject, method))) {
        const { count, total, text } = await listAs(subject, method)
        expect([method.name, total ?? count]).toEqual([method.name, count])
        if (subject.on === "instance") continue
        const foreign =
          subject === otherOrgOwner || subject === otherInstanceOwner ? /alpha/i : /beta/i
        expect([method.name, foreign.exec(text)?.[0]]).toEqual([method.name, undefined])
      }
    })
  }
})
