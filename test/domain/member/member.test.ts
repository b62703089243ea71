import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { shares } from "../../../src/domain/member/api.ts"
import { memberships, permissionsOf } from "../../../src/domain/member/index.ts"
import { createProject } from "../../../src/domain/project/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { lockUser, removeUser } from "../../../src/domain/user/index.ts"
import { ask } from "../../support/ask.ts"
import { type Estate, openEstate, type Person, person } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const instance = { resource: { case: "instance", value: true } }
const org = (value: string) => ({ resource: { case: "organizationId", value } })
const project = (value: string) => ({ resource: { case: "projectId", value } })

const give = (who: Person, userId: string, resource: object, ...roles: string[]) =>
  estate.as(who, "createAdministrator", { userId, resource, roles })
const change = (who: Person, userId: string, resource: object, ...roles: string[]) =>
  estate.as(who, "updateAdministrator", { userId, resource, roles })
const take = (who: Person, userId: string, resource: object) =>
  estate.as(who, "deleteAdministrator", { userId, resource })

const rolesOf = (userId: string) =>
  memberships(estate.cx(), userId).map(({ level, id, roles }) => [level, id, ...roles].join(" "))

test("roles are given, replaced and taken, on each level", async () => {
  const levels: readonly (readonly [object, string, string, string])[] = [
    [instance, "instance i1", "IAM_OWNER_VIEWER", "IAM_USER_MANAGER"],
    [org("org1"), "org org1", "ORG_OWNER_VIEWER", "ORG_USER_MANAGER"],
    [project("own"), "project own", "PROJECT_OWNER_VIEWER", "PROJECT_OWNER"],
  ]
  for (const [resource, name, first, second] of levels) {
    await give("owner", "nobody", resource, first)
    expect(rolesOf("nobody")).toEqual([`${name} ${first}`])
    await change("owner", "nobody", resource, first, second)
    expect(rolesOf("nobody")).toEqual([`${name} ${first} ${second}`])
    await take("owner", "nobody", resource)
    expect(rolesOf("nobody")).toEqual([])
  }
})

test.each([
  ["the instance", instance, "IAM_OWNER_VIEWER", "IAM_USER_MANAGER"],
  ["an organisation", org("org1"), "ORG_OWNER_VIEWER", "ORG_USER_MANAGER"],
  ["a project", project("own"), "PROJECT_OWNER_VIEWER", "PROJECT_OWNER"],
])("who is removed is no administrator of %s any more", async (_, resource, first, second) => {
  await give("owner", "nobody", resource, first)
  await removeUser(estate.cx(), "nobody")
  const before = estate.cx().store.log.durable()
  await expect(change("owner", "nobody", resource, second)).rejects.toMatchObject({
    code: "not_found",
    id: "member.missing",
  })
  expect(await take("owner", "nobody", resource)).not.toHaveProperty("deletionDate")
  expect(estate.cx().store.log.durable()).toBe(before)
})

test("memberships are read again when one may have changed, and not before", async () => {
  const known = memberships(estate.cx(), "manager")
  expect(known).toHaveLength(1)
  await createUser(estate.cx(), "new", person("new", "org1"))
  expect(memberships(estate.cx(), "manager")).toBe(known)
  expect(memberships(estate.cx({ instance: "i2" }), "manager")).toEqual([])
  await give("owner", "nobody", org("org1"), "ORG_OWNER_VIEWER")
  expect(memberships(estate.cx(), "manager")).not.toBe(known)
  expect(memberships(estate.cx(), "manager")).toEqual(known)
  await removeUser(estate.cx(), "manager")
  expect(memberships(estate.cx(), "manager")).toEqual([])
})

test("dates are those of the administrator, not of the instance or an earlier term", async () => {
  await give("owner", "nobody", org("org1"), "ORG_OWNER")
  await take("owner", "nobody", org("org1"))
  estate.clock.advance(60_000)
  const { creationDate } = await give("owner", "nobody", org("org1"), "ORG_OWNER")
  expect(timestampMs(creationDate)).toBe(estate.clock.now())
  const start = estate.clock.now()
  estate.clock.advance(60_000)
  const same = await change("owner", "nobody", org("org1"), "ORG_OWNER")
  expect(timestampMs(same.changeDate)).toBe(start)
})

test("taking what nobody has succeeds without a date", async () => {
  expect((await take("owner", "nobody", org("org1"))).deletionDate).toBeUndefined()
  expect((await take("owner", "nobody", instance)).deletionDate).toBeUndefined()
})

test("nobody is made an administrator twice, and nobody who is not there", async () => {
  await expect(give("owner", "manager", org("org1"), "ORG_OWNER")).rejects.toMatchObject({
    code: "already_exists",
  })
  await expect(give("owner", "owner", instance, "IAM_OWNER")).rejects.toMatchObject({
    code: "already_exists",
  })
  await expect(give("owner", "absent", org("org1"), "ORG_OWNER")).rejects.toMatchObject({
    id: "user.missing",
  })
  await expect(change("owner", "nobody", org("org1"), "ORG_OWNER")).rejects.toMatchObject({
    id: "member.missing",
  })
})

const wrongRoles: readonly (readonly [string, readonly string[]])[] = [
  ["none", []],
  ["one that does not exist", ["ORG_KING"]],
  ["one of another level", ["PROJECT_OWNER"]],
  ["one that runs several instances", ["SYSTEM_OWNER"]],
  ["one twice", ["ORG_OWNER", "ORG_OWNER"]],
  ["a property of every object", ["constructor"]],
]
test.each(wrongRoles)("roles are refused: %s", async (_, roles) => {
  await expect(give("owner", "nobody", org("org1"), ...roles)).rejects.toMatchObject({
    code: "invalid_argument",
  })
})

test("an id that every object knows is an id like any other", async () => {
  for (const id of ["constructor", "__proto__"]) {
    await createUser(estate.cx(), id, person(id, "org1"))
    await expect(change("owner", id, instance, "IAM_OWNER")).rejects.toMatchObject({
      id: "member.missing",
    })
    await give("owner", id, instance, "IAM_OWNER_VIEWER")
    expect(rolesOf(id)).toEqual(["instance i1 IAM_OWNER_VIEWER"])
    expect((await take("owner", id, instance)).deletionDate).toBeDefined()
  }
})

test("nobody may give what they lack", async () => {
  await give("owner", "nobody", instance, "IAM_ORG_MANAGER")
  // Manages every organisation, so gives its roles, but not those of an instance's owner.
  await give("nobody", "stranger", org("org1"), "ORG_OWNER")
  expect(() => give("nobody", "stranger", instance, "IAM_OWNER")).toThrow("iam.member.write")

  await give("owner", "manager", project("own"), "PROJECT_OWNER_VIEWER")
  await expect(give("manager", "nobody", org("org1"), "ORG_ADMIN_IMPERSONATOR")).rejects.toThrow(
    "impersonation",
  )
  await give("manager", "nobody", org("org1"), "ORG_OWNER_VIEWER")
  await expect(
    change("manager", "nobody", org("org1"), "ORG_OWNER_VIEWER", "ORG_END_USER_IMPERSONATOR"),
  ).rejects.toMatchObject({ id: "member.role_too_high" })
})

test("nobody raises themself: member.write alone gives no more than one has", async () => {
  await createProject(estate.cx(), "p1", { orgId: "org1", name: "One" })
  await give("owner", "nobody", project("p1"), "PROJECT_OWNER")
  await give("nobody", "manager", project("p1"), "PROJECT_OWNER_VIEWER")
  expect(() => give("nobody", "nobody", org("org1"), "ORG_OWNER")).toThrow("org.member.write")
  expect(rolesOf("nobody")).toEqual(["project p1 PROJECT_OWNER"])
})

test("whoever owns the instance may give every role, also what no owner holds", async () => {
  await give("owner", "nobody", instance, "IAM_LOGIN_CLIENT", "IAM_ADMIN_IMPERSONATOR")
  expect(permissionsOf("IAM_OWNER").has("session.link")).toBe(false)
  expect(rolesOf("nobody")).toHaveLength(1)
})

test("an organisation's owner may give every role of it but impersonation", async () => {
  const roles = [
    "ORG_OWNER",
    "ORG_USER_MANAGER",
    "ORG_OWNER_VIEWER",
    "ORG_SETTINGS_MANAGER",
    "ORG_USER_PERMISSION_EDITOR",
    "ORG_PROJECT_PERMISSION_EDITOR",
    "ORG_PROJECT_CREATOR",
    "ORG_USER_SELF_MANAGER",
  ]
  await give("manager", "nobody", org("org1"), ...roles)
  await createProject(estate.cx(), "px", { orgId: "org1", name: "One" })
  await give("manager", "nobody", project("px"), "PROJECT_OWNER", "PROJECT_OWNER_VIEWER")
})

test("a manager reaches no other organisation, its projects, or the instance", async () => {
  await createProject(estate.cx(), "p2", { orgId: "org2", name: "Two" })
  for (const act of [give, change]) {
    expect(() => act("manager", "nobody", org("org2"), "ORG_OWNER")).toThrow("no such org")
    expect(() => act("manager", "nobody", project("p2"), "PROJECT_OWNER")).toThrow("no such proj")
    expect(() => act("manager", "nobody", instance, "IAM_OWNER")).toThrow("iam.member.write")
  }
  expect(() => take("manager", "stranger", org("org2"))).toThrow("no such organisation")
  const grant = { projectId: "own", organizationId: "org2" }
  const granted = { resource: { case: "projectGrant", value: grant } }
  expect(() => give("owner", "nobody", granted, "PROJECT_GRANT_OWNER")).toThrow("no such")
  expect(() => give("owner", "nobody", { resource: { case: undefined } })).toThrow("say what")
})

test("the last owner who can sign in stays owner", async () => {
  const last = { id: "instance.last_owner" }
  await expect(take("owner", "owner", instance)).rejects.toMatchObject(last)
  await expect(change("owner", "owner", instance, "IAM_OWNER_VIEWER")).rejects.toMatchObject(last)
  await give("owner", "nobody", instance, "IAM_OWNER")
  await lockUser(estate.cx(), "nobody")
  await expect(take("owner", "owner", instance)).rejects.toMatchObject(last)
  await expect(lockUser(estate.cx(), "owner")).rejects.toMatchObject(last)
  await expect(removeUser(estate.cx(), "owner")).rejects.toMatchObject(last)
})

test("an owner in a stopped organisation does not count", async () => {
  await give("owner", "stranger", instance, "IAM_OWNER")
  await estate.as("owner", "deactivateOrganization", { organizationId: "org2" })
  await expect(take("owner", "owner", instance)).rejects.toMatchObject({
    id: "instance.last_owner",
  })
})

const listed = async (who: Person, ...filters: object[]) => {
  const request = { pagination: { asc: true }, filters }
  const { administrators, pagination } = await estate.as(who, "listAdministrators", request)
  expect(pagination.totalResult).toBe(BigInt(administrators.length))
  return administrators.map(
    ({ user, resource }: any) =>
      `${user.id} ${resource.case} ${resource.value.id ?? resource.value}`,
  )
}

test("each level is listed to who may read it, and to nobody else", async () => {
  await give("owner", "nobody", project("own"), "PROJECT_OWNER")
  const org1 = ["manager organization org1"]
  const onProject = ["nobody project own"]
  const all = ["owner instance true", ...org1, "stranger organization org2", ...onProject]
  expect((await listed("owner")).sort()).toEqual(all.sort())
  expect((await listed("manager")).sort()).toEqual([...org1, ...onProject].sort())
  expect(await listed("stranger")).toEqual(["stranger organization org2"])
  expect(await listed("nobody")).toEqual(onProject)
  await give("owner", "nobody", instance, "IAM_USER_MANAGER")
  expect(permissionsOf("IAM_USER_MANAGER").has("iam.member.read")).toBe(false)
  expect(await listed("nobody")).not.toContain("owner instance true")
})

test("a project whose id is that of an organisation opens nothing of it", async () => {
  const projects = { all: false, orgs: [], projects: ["org2"], grants: [] }
  const scope = { ...projects, projects: [], kinds: { org: projects, project: projects } }
  const found = await ask(shares, "listAdministrators", estate.cx({ scope }))
  expect(found.administrators).toEqual([])
})

test("administrators are found by role, user and thing, also joined and negated", async () => {
  const f = (kind: string, value: object) => ({ filter: { case: kind, value } })
  const role = (roleKey: string) => f("role", { roleKey })
  const name = (displayName: string, method: number) =>
    f("userDisplayName", { displayName, method })
  const owner = "owner instance true"
  const both = ["manager organization org1", "stranger organization org2"]
  expect(await listed("owner", role("IAM_OWNER"))).toEqual([owner])
  expect(await listed("owner", role("OWNER"))).toEqual([])
  expect(await listed("owner", f("resource", org("org2")))).toEqual([both[1]])
  expect(await listed("owner", f("resource", instance))).toEqual([owner])
  expect(await listed("owner", f("inUserIdsFilter", { ids: ["owner"] }))).toEqual([owner])
  expect(await listed("owner", f("userOrganizationId", { id: "org2" }))).toEqual([both[1]])
  expect(await listed("owner", name("MANAGER", 3))).toEqual([both[0]])
  const login = { preferredLoginName: "stranger", method: 0 }
  expect(await listed("owner", f("userPreferredLoginName", login))).toEqual([both[1]])
  expect((await listed("owner", f("not", { query: role("IAM_OWNER") }))).sort()).toEqual(both)
  const either = f("or", { queries: [role("IAM_OWNER"), f("resource", org("org2"))] })
  expect((await listed("owner", either)).sort()).toEqual([owner, both[1]].sort())
  const neither = f("and", { queries: [role("IAM_OWNER"), f("resource", org("org2"))] })
  expect(await listed("owner", neither)).toEqual([])
  const now = { seconds: BigInt(estate.clock.now() / 1000), nanos: 0 }
  expect(await listed("owner", f("creationDate", { timestamp: now, method: 1 }))).toEqual([])
  expect(await listed("owner", f("creationDate", { timestamp: now, method: 2 }))).toHaveLength(3)
})

test("filters that are nested too deep are refused", async () => {
  let query: object = { filter: { case: "role", value: { roleKey: "A" } } }
  for (let depth = 0; depth < 12; depth++) query = { filter: { case: "not", value: { query } } }
  await expect(listed("owner", query)).rejects.toMatchObject({ id: "search.filter_too_deep" })
})

test("who is listed is shown with the names of both sides", async () => {
  const filters = [{ filter: { case: "resource", value: org("org2") } }]
  const { administrators } = await estate.as("owner", "listAdministrators", { filters })
  expect(administrators).toMatchObject([
    {
      user: {
        id: "stranger",
        displayName: "stranger Person",
        preferredLoginName: "stranger",
        organizationId: "org2",
      },
      resource: { case: "organization", value: { id: "org2", name: "Globex" } },
      roles: ["ORG_OWNER"],
    },
  ])
})

test("with a user or a project their administration ends", async () => {
  await createProject(estate.cx(), "p1", { orgId: "org1", name: "One" })
  await give("owner", "nobody", project("p1"), "PROJECT_OWNER")
  await estate.as("manager", "deleteProject", { projectId: "p1" })
  expect(rolesOf("nobody")).toEqual([])
  await give("owner", "nobody", instance, "IAM_OWNER")
  await removeUser(estate.cx(), "nobody")
  expect(rolesOf("nobody")).toEqual([])
  const again = createUser(estate.cx(), "nobody", person("nobody", "org1"))
  await expect(again).rejects.toMatchObject({ code: "already_exists" })
})

test("who may only create projects owns what they create, and nothing else", async () => {
  await give("owner", "nobody", org("org1"), "ORG_PROJECT_CREATOR")
  const asked = { organizationId: "org1", projectId: "p1", name: "Mine" }
  await estate.as("nobody", "createProject", asked)
  await estate.as("nobody", "updateProject", { projectId: "p1", name: "Still mine" })
  expect(() => estate.as("nobody", "updateProject", { projectId: "own", name: "Core" })).toThrow(
    "no such project",
  )
  await estate.as("manager", "createProject", { ...asked, projectId: "p2" })
  expect(rolesOf("manager")).toEqual(["org org1 ORG_OWNER"])
})

test("v1 makes a project with administrators, who get the owner's role unless told", async () => {
  await give("owner", "nobody", org("org1"), "ORG_PROJECT_CREATOR")
  const { id } = await estate.as("nobody", "addProject", {
    name: "Mine",
    admins: [{ userId: "manager" }, { userId: "nobody", roles: ["PROJECT_OWNER_VIEWER"] }],
  })
  expect(rolesOf("manager")).toContain(`project ${id} PROJECT_OWNER`)
  expect(rolesOf("nobody")).toContain(`project ${id} PROJECT_OWNER_VIEWER`)
})

test("one's organisations are one's own and those in which one has a role", async () => {
  const mine = async (who: Person, queries: object[] = []) => {
    const { result } = await estate.as(who, "listMyProjectOrgs", { queries })
    return result.map(({ id }: { id: string }) => id).sort()
  }
  expect(await mine("nobody")).toEqual(["org1"])
  await createProject(estate.cx(), "p2", { orgId: "org2", name: "Two" })
  await give("owner", "nobody", project("p2"), "PROJECT_OWNER")
  expect(await mine("nobody")).toEqual(["org1", "org2"])
  expect(await mine("owner")).toEqual(["org1", "org2"])
  const named = { query: { case: "nameQuery", value: { name: "glob", method: 3 } } }
  expect(await mine("nobody", [named])).toEqual(["org2"])
  expect(await mine("manager", [named])).toEqual([])
})
