import type { DescMethod, Message } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { accessOf, authorise } from "../../../src/api/access.ts"
import { createGroupAuthorization } from "../../../src/domain/authorization/group/commands.ts"
import { createGroup } from "../../../src/domain/group/commands.ts"
import { roles } from "../../../src/domain/member/roles.ts"
import { createSignUpLink } from "../../../src/domain/sign-up/link.ts"
import { signUpRequest } from "../../../src/domain/sign-up/model.ts"
import type { Caller } from "../../../src/kernel/context.ts"
import { authority, operations } from "../../../src/server/modules.ts"
import type { Cx } from "../../../src/store/index.ts"
import { callerOf, type World } from "../../support/world.ts"
import {
  goldenRoles,
  heldOn,
  openMatrix,
  requestFor,
  ruled,
  systemWayOf,
  thingOf,
  type Way,
  waysOf,
} from "./matrix.ts"

let world: World
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

/** A sign-up that waits for the administrators of an organization. */
async function addWaiting(orgId: string) {
  const applicant = { email: "a@example.com", givenName: "A", familyName: "B", language: "" }
  const data = { orgId, expires: world.clock.now() + 1000 }
  const added = { type: "sign_up_request.added", data, private: applicant } as const
  await world.store.transact(world.cx(), (tx) =>
    tx.append(signUpRequest, `${orgId}-request`, [added], orgId),
  )
}

/** Somebody who calls, and what the golden lists say they hold. */
type Subject = {
  readonly name: string
  readonly caller: Caller
  readonly instance?: string
  readonly permissions: ReadonlySet<string>
  /** Where they hold them; undefined where that is nothing of alpha's. */
  readonly on?: string | undefined
}

const none: ReadonlySet<string> = new Set()

const holders: readonly Subject[] = [...goldenRoles].flatMap(([name, { level, permissions }]) => {
  const on = heldOn[level]
  return on ? [{ name, caller: callerOf(`alpha.${name}`, "alpha"), permissions, on }] : []
})
const permissionsOf = (role: string) => goldenRoles.get(role)?.permissions ?? none

const anonymous: Subject = { name: "nobody", caller: { kind: "anonymous" }, permissions: none }
const roleless: Subject = {
  name: "who has no role",
  permissions: none,
  caller: callerOf("alpha-user", "alpha"),
}
const neighbour: Subject = {
  name: "who owns another organisation",
  caller: callerOf("beta-owner", "beta"),
  permissions: permissionsOf("ORG_OWNER"),
}
const elsewhere: Subject = {
  name: "who owns another instance",
  caller: callerOf("owner2", "home"),
  instance: "i2",
  permissions: permissionsOf("IAM_OWNER"),
}
const subjects = [anonymous, roleless, ...holders, neighbour, elsewhere]

const resources = new Set(Object.keys(authority.resources))

const callOf = ({ caller, instance = "i1" }: Subject, orgId?: string): Cx => {
  const { scope: _, ...cx } = world.cx({ caller, instance, ...(orgId && { orgId }) })
  return cx
}

/** Who may do more than whom has a test of its own: rank.test.ts. */
const unranked = {
  ...authority,
  outranks: () => true,
  outranksAll: () => true,
  outranksInstance: () => true,
}

/** Only operations on the organization of the context are asked with one. */
const contextOf = (method: DescMethod): string | undefined =>
  ruled.some((each) => each.method === method && each.rule.includes("@org")) ? "alpha" : undefined

/** "allowed", or the code that it is refused with. */
function outcome(subject: Subject, method: DescMethod, request: Message, by = unranked): string {
  try {
    authorise(by, accessOf(method, resources), callOf(subject, contextOf(method)), request)
    return "allowed"
  } catch (refusal) {
    return (refusal as { readonly code: string }).code
  }
}

/** What the golden lists say, worked out without a line of what is tried. */
function expected(subject: Subject, way: Way): string {
  if (subject.caller.kind === "anonymous") return "unauthenticated"
  const isForeign = subject === neighbour || subject === elsewhere
  if (isForeign && way.id === "@org") return "not_found"
  const isHeld = subject.permissions.has(way.permission)
  if (isForeign && way.id === "@home") return isHeld ? "allowed" : "permission_denied"
  const isSelf = passesAsSelf(subject, way)
  if (way.isSearch) return isHeld || isSelf ? "allowed" : "permission_denied"
  if (isSelf && isPersonal(way) && subject === roleless) return "allowed"
  if (!isHeld) return "permission_denied"
  if (subject === elsewhere) return isAboutItself(way) ? "allowed" : "not_found"
  const reaches = subject.on !== undefined && thingOf(way.resource).from.some(isOn(subject.on))
  return reaches ? "allowed" : "not_found"
}

const isOn = (on: string) => (level: string) => level === on

/** What the person who has no role can be reached by. */
const isPersonal = ({ resource }: Way) => resource === "user" || resource === "session"

const passesAsSelf = ({ permissions }: Subject, { self }: Way) =>
  self === "authenticated" || (self !== "" && permissions.has(self))

const flags = [
  "",
  "resource.instance",
  "ctx.instance",
  "instance",
  "system",
  "resource.stream.instance",
]

/** An operation on the instance that is called, or one that a flag chooses. */
const isAboutItself = ({ resource, id }: Way) => resource === "instance" && flags.includes(id)

/** Where the two part, an operation and a way at a time. */
function disagreeing(subject: Subject, by = unranked): readonly string[] {
  return ruled.flatMap(({ method, rule }) =>
    trialsOf(subject, method, rule).flatMap(([request, wanted]) => {
      const seen = outcome(subject, method, request, by)
      return seen === wanted ? [] : [`${method.name} (${rule}): ${seen}, not ${wanted}`]
    }),
  )
}

/** Requests with what must come of them: one for each way; one for all where nothing is named. */
function trialsOf(
  subject: Subject,
  method: DescMethod,
  rule: string,
): readonly (readonly [Message, string])[] {
  const ways = waysOf(rule)
  if (typeof ways === "string") return [[requestFor(method, unnamed), openTo(subject, rule)]]
  if (!ways.every(({ isSearch }) => isSearch)) {
    return ways.map((way) => [requestFor(method, way), expected(subject, way)])
  }
  const each = ways.map((way) => expected(subject, way))
  const wanted = each.includes("allowed") ? "allowed" : (each[0] ?? "")
  return [[requestFor(method, unnamed), wanted]]
}

describe("every operation is open to whom the golden lists say, and to nobody else:", () => {
  test.each(subjects.map((subject) => [subject.name, subject] as const))("%s", (_, subject) => {
    expect(disagreeing(subject)).toEqual([])
  })

  test.each(["SYSTEM_OWNER", "SYSTEM_OWNER_VIEWER"])("%s, who holds nothing else", (role) => {
    const caller = { kind: "system", name: "operator", roles: [role] } as const
    const subject: Subject = { name: role, caller, permissions: permissionsOf(role) }
    const wrong = ruled.flatMap(({ method, rule }) => {
      const way = systemWayOf(rule)
      const isOpen = rule === "public" || (way && subject.permissions.has(way.permission))
      const wanted = isOpen ? "allowed" : "permission_denied"
      const seen = outcome(subject, method, requestFor(method, way ?? unnamed))
      return seen === wanted ? [] : [`${method.name} (${rule}): ${seen}, not ${wanted}`]
    })
    expect(wrong).toEqual([])
  })

  test("a role that permits too much would be seen, and one that reaches too far", () => {
    const viewer = holders.find(({ name }) => name === "ORG_OWNER_VIEWER") ?? roleless
    const generous = { ...unranked, permissions: () => permissionsOf("ORG_OWNER") }
    expect(disagreeing(viewer, generous).length).toBeGreaterThan(20)
    const wide = { level: "instance", id: "i1", roles: ["ORG_OWNER"] } as const
    const careless = { ...unranked, memberships: () => [wide] }
    expect(disagreeing(neighbour, careless).length).toBeGreaterThan(20)
  })

  test("what is not there is not there for who could reach all of it", () => {
    const owner = holders.find(({ name }) => name === "IAM_OWNER") ?? roleless
    for (const { method, rule } of ruled) {
      const ways = waysOf(rule)
      if (typeof ways === "string") continue
      for (const way of ways.filter(({ id }) => id && !id.startsWith("@"))) {
        if (isAboutItself(way) || !owner.permissions.has(way.permission)) continue
        const seen = outcome(owner, method, requestFor(method, way, "nobody's"))
        expect([method.name, seen]).toEqual([method.name, "not_found"])
      }
    }
  })
})

const unnamed: Way = {
  permission: "",
  resource: "instance",
  isSearch: false,
  id: "",
  parent: "",
  self: "",
}

function openTo(subject: Subject, rule: string): string {
  if (rule === "public") return "allowed"
  if (subject.caller.kind === "anonymous") return "unauthenticated"
  return rule === "authenticated" ? "allowed" : "permission_denied"
}

test("the roles are those of the golden list, each with its level and permissions", () => {
  const levels = { "org(global)": "global", projectgrant: "grant" } as Record<string, string>
  const golden = [...goldenRoles].map(([name, { level, permissions }]) => [
    name,
    levels[level] ?? level,
    [...permissions].sort(),
  ])
  const ours = Object.entries(roles).map(([name, { level, permissions }]) => [
    name,
    level,
    [...permissions].sort(),
  ])
  expect(ours.sort()).toEqual(golden.sort())
})

/** Lists over all that the caller may see; those of one thing are refused with that thing. */
const lists = ruled.filter(
  ({ method, rule }) => method.name.startsWith("List") && / search( |$)/.test(rule),
)

/** What a list answers: its rows, and how many it says there are. */
async function listed(subject: Subject, method: DescMethod) {
  const operation = (await operations()).find((each) => each.method === method)
  const request = requestFor(method, unnamed)
  const cx = authorise(authority, accessOf(method, resources), callOf(subject), request)
  const answer = Object(await operation?.handler(request, cx))
  const rows = method.output.fields.filter(({ fieldKind }) => fieldKind === "list")
  const total = (answer.pagination ?? answer.details)?.totalResult
  return {
    count: rows.reduce((sum, { localName }) => sum + (answer[localName]?.length ?? 0), 0),
    total: total === undefined ? undefined : Number(total),
    text: JSON.stringify(answer, (_, value) => (typeof value === "bigint" ? `${value}` : value)),
  }
}

const mayList = (subject: Subject, method: DescMethod) =>
  outcome(subject, method, requestFor(method, unnamed)) === "allowed"

describe("no list leaks a row or a total:", () => {
  test("there are lists to try, and the owner finds something of both organisations", async () => {
    const owner = holders.find(({ name }) => name === "IAM_OWNER") ?? roleless
    const texts = await Promise.all(lists.map(async ({ method }) => listed(owner, method)))
    const both = texts.filter(({ text }) => /alpha/i.test(text) && /beta/i.test(text))
    expect(both.length).toBeGreaterThanOrEqual(8)
  })

  for (const subject of subjects) {
    test(subject.name, async () => {
      for (const { method } of lists.filter(({ method }) => mayList(subject, method))) {
        const { count, total, text } = await listed(subject, method)
        expect([method.name, total ?? count]).toEqual([method.name, count])
        if (subject.on === "instance") continue
        const foreign = subject === neighbour || subject === elsewhere ? /alpha/i : /beta/i
        expect([method.name, foreign.exec(text)?.[0]]).toEqual([method.name, undefined])
      }
    })
  }
})
