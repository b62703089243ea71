import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { shares } from "../../../src/domain/member/api.ts"
import { listMemberships, permissionsOf } from "../../../src/domain/member/index.ts"
import { createProject } from "../../../src/domain/project/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { lockUser, removeUser } from "../../../src/domain/user/index.ts"
import { callOperation } from "../../support/call-operation.ts"
import { humanInput, openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const instance = { resource: { case: "instance", value: true } }
const org = (value: string) => ({ resource: { case: "organizationId", value } })
const project = (value: string) => ({ resource: { case: "projectId", value } })

const grantRoles = (user: TenantUser, userId: string, resource: object, ...roles: string[]) =>
  estate.as(user, "createAdministrator", { userId, resource, roles })
const updateRoles = (user: TenantUser, userId: string, resource: object, ...roles: string[]) =>
  estate.as(user, "updateAdministrator", { userId, resource, roles })
const revokeRoles = (user: TenantUser, userId: string, resource: object) =>
  estate.as(user, "deleteAdministrator", { userId, resource })

const rolesOf = (userId: string) =>
  listMemberships(estate.cx(), userId).map(({ level, id, roles }) =>
    [level, id, ...roles].join(" "),
  )

test("roles are granted, replaced, and revoked on each level", async () => {
  const levels: readonly (readonly [object, string, string, string])[] = [
    [instance, "instance i1", "IAM_OWNER_VIEWER", "IAM_USER_MANAGER"],
    [org("org1"), "org org1", "ORG_OWNER_VIEWER", "ORG_USER_MANAGER"],
    [project("own"), "project own", "PROJECT_OWNER_VIEWER", "PROJECT_OWNER"],
  ]
  for (const [resource, name, first, second] of levels) {
    await grantRoles("owner", "nobody", resource, first)
    expect(rolesOf("nobody")).toEqual([`${name} ${first}`])
    await updateRoles("owner", "nobody", resource, first, second)
    expect(rolesOf("nobody")).toEqual([`${name} ${first} ${second}`])
    await revokeRoles("owner", "nobody", resource)
    expect(rolesOf("nobody")).toEqual([])
  }
})

test.each([
  ["the instance", instance, "IAM_OWNER_VIEWER", "IAM_USER_MANAGER"],
  ["an organization", org("org1"), "ORG_OWNER_VIEWER", "ORG_USER_MANAGER"],
  ["a project", project("own"), "PROJECT_OWNER_VIEWER", "PROJECT_OWNER"],
])("a deleted user is no longer an administrator of %s", async (_, resource, first, second) => {
  await grantRoles("owner", "nobody", resource, first)
  await removeUser(estate.cx(), "nobody")
  const before = estate.cx().store.log.durable()
  await expect(updateRoles("owner", "nobody", resource, second)).rejects.toMatchObject({
    code: "not_found",
    id: "member.missing",
  })
  expect(await revokeRoles("owner", "nobody", resource)).not.toHaveProperty("deletionDate")
  expect(estate.cx().store.log.durable()).toBe(before)
})

test("memberships are read again only after a possible change", async () => {
  const known = listMemberships(estate.cx(), "manager")
  expect(known).toHaveLength(1)
  await createUser(estate.cx(), "new", humanInput("new", "org1"))
  expect(listMemberships(estate.cx(), "manager")).toBe(known)
  expect(listMemberships(estate.cx({ instance: "i2" }), "manager")).toEqual([])
  await grantRoles("owner", "nobody", org("org1"), "ORG_OWNER_VIEWER")
  expect(listMemberships(estate.cx(), "manager")).not.toBe(known)
  expect(listMemberships(estate.cx(), "manager")).toEqual(known)
  await removeUser(estate.cx(), "manager")
  expect(listMemberships(estate.cx(), "manager")).toEqual([])
})

test("dates belong to the administrator, not to the instance or an earlier membership", async () => {
  await grantRoles("owner", "nobody", org("org1"), "ORG_OWNER")
  await revokeRoles("owner", "nobody", org("org1"))
  estate.clock.advance(60_000)
  const { creationDate } = await grantRoles("owner", "nobody", org("org1"), "ORG_OWNER")
  expect(timestampMs(creationDate)).toBe(estate.clock.now())
  const start = estate.clock.now()
  estate.clock.advance(60_000)
  const same = await updateRoles("owner", "nobody", org("org1"), "ORG_OWNER")
  expect(timestampMs(same.changeDate)).toBe(start)
})

test("revoking a missing role succeeds without a date", async () => {
  expect((await revokeRoles("owner", "nobody", org("org1"))).deletionDate).toBeUndefined()
  expect((await revokeRoles("owner", "nobody", instance)).deletionDate).toBeUndefined()
})

test("rejects a second membership and unknown users", async () => {
  await expect(grantRoles("owner", "manager", org("org1"), "ORG_OWNER")).rejects.toMatchObject({
    code: "already_exists",
  })
  await expect(grantRoles("owner", "owner", instance, "IAM_OWNER")).rejects.toMatchObject({
    code: "already_exists",
  })
  await expect(grantRoles("owner", "absent", org("org1"), "ORG_OWNER")).rejects.toMatchObject({
    id: "user.missing",
  })
  await expect(updateRoles("owner", "nobody", org("org1"), "ORG_OWNER")).rejects.toMatchObject({
    id: "member.missing",
  })
})

const invalidRoles: readonly (readonly [string, readonly string[]])[] = [
  ["none", []],
  ["one that does not exist", ["ORG_KING"]],
  ["one of another level", ["PROJECT_OWNER"]],
  ["one that runs several instances", ["SYSTEM_OWNER"]],
  ["one twice", ["ORG_OWNER", "ORG_OWNER"]],
  ["a property of every object", ["constructor"]],
]
test.each(invalidRoles)("rejects roles: %s", async (_, roles) => {
  await expect(grantRoles("owner", "nobody", org("org1"), ...roles)).rejects.toMatchObject({
    code: "invalid_argument",
  })
})

test("IDs named like Object.prototype members work like others", async () => {
  for (const id of ["constructor", "__proto__"]) {
    await createUser(estate.cx(), id, humanInput(id, "org1"))
    await expect(updateRoles("owner", id, instance, "IAM_OWNER")).rejects.toMatchObject({
      id: "member.missing",
    })
    await grantRoles("owner", id, instance, "IAM_OWNER_VIEWER")
    expect(rolesOf(id)).toEqual(["instance i1 IAM_OWNER_VIEWER"])
    expect((await revokeRoles("owner", id, instance)).deletionDate).toBeDefined()
  }
})

test("nobody can grant permissions that they lack", async () => {
  await grantRoles("owner", "nobody", instance, "IAM_ORG_MANAGER")
  // Manages every organization and can therefore grant its roles, but not those of an instance
  // owner.
  await grantRoles("nobody", "stranger", org("org1"), "ORG_OWNER")
  expect(() => grantRoles("nobody", "stranger", instance, "IAM_OWNER")).toThrow("iam.member.write")

  await grantRoles("owner", "manager", project("own"), "PROJECT_OWNER_VIEWER")
  await expect(
    grantRoles("manager", "nobody", org("org1"), "ORG_ADMIN_IMPERSONATOR"),
  ).rejects.toThrow("impersonation")
  await grantRoles("manager", "nobody", org("org1"), "ORG_OWNER_VIEWER")
  await expect(
    updateRoles("manager", "nobody", org("org1"), "ORG_OWNER_VIEWER", "ORG_END_USER_IMPERSONATOR"),
  ).rejects.toMatchObject({ id: "member.role_too_high" })
})

test("member.write alone grants no more than the caller has", async () => {
  await createProject(estate.cx(), "p1", { orgId: "org1", name: "One" })
  await grantRoles("owner", "nobody", project("p1"), "PROJECT_OWNER")
  await grantRoles("nobody", "manager", project("p1"), "PROJECT_OWNER_VIEWER")
  expect(() => grantRoles("nobody", "nobody", org("org1"), "ORG_OWNER")).toThrow("org.member.write")
  expect(rolesOf("nobody")).toEqual(["project p1 PROJECT_OWNER"])
})

test("an instance owner can grant every role, including permissions outside their own", async () => {
  await grantRoles("owner", "nobody", instance, "IAM_LOGIN_CLIENT", "IAM_ADMIN_IMPERSONATOR")
  expect(permissionsOf("IAM_OWNER").has("session.link")).toBe(false)
  expect(rolesOf("nobody")).toHaveLength(1)
})

test("an organization's owner may give every role of it but impersonation", async () => {
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
  await grantRoles("manager", "nobody", org("org1"), ...roles)
  await createProject(estate.cx(), "px", { orgId: "org1", name: "One" })
  await grantRoles("manager", "nobody", project("px"), "PROJECT_OWNER", "PROJECT_OWNER_VIEWER")
})

test("a manager has no access to other organizations, their projects, or the instance", async () => {
  await createProject(estate.cx(), "p2", { orgId: "org2", name: "Two" })
  for (const act of [grantRoles, updateRoles]) {
    expect(() => act("manager", "nobody", org("org2"), "ORG_OWNER")).toThrow(
      "organization not found",
    )
    expect(() => act("manager", "nobody", project("p2"), "PROJECT_OWNER")).toThrow(
      "project not found",
    )
    expect(() => act("manager", "nobody", instance, "IAM_OWNER")).toThrow("iam.member.write")
  }
  expect(() => revokeRoles("manager", "stranger", org("org2"))).toThrow("organization not found")
  const grant = { projectId: "own", organizationId: "org2" }
  const granted = { resource: { case: "projectGrant", value: grant } }
  expect(() => grantRoles("owner", "nobody", granted, "PROJECT_GRANT_OWNER")).toThrow(
    "project grant not found",
  )
  expect(() => grantRoles("owner", "nobody", { resource: { case: undefined } })).toThrow(
    "one of these fields is required: resource.instance",
  )
})

test("the last owner who can sign in stays owner", async () => {
  const last = { id: "instance.last_owner" }
  await expect(revokeRoles("owner", "owner", instance)).rejects.toMatchObject(last)
  await expect(updateRoles("owner", "owner", instance, "IAM_OWNER_VIEWER")).rejects.toMatchObject(
    last,
  )
  await grantRoles("owner", "nobody", instance, "IAM_OWNER")
  await lockUser(estate.cx(), "nobody")
  await expect(revokeRoles("owner", "owner", instance)).rejects.toMatchObject(last)
  await expect(lockUser(estate.cx(), "owner")).rejects.toMatchObject(last)
  await expect(removeUser(estate.cx(), "owner")).rejects.toMatchObject(last)
})

test("an owner in a deactivated organization does not count", async () => {
  await grantRoles("owner", "stranger", instance, "IAM_OWNER")
  await estate.as("owner", "deactivateOrganization", { organizationId: "org2" })
  await expect(revokeRoles("owner", "owner", instance)).rejects.toMatchObject({
    id: "instance.last_owner",
  })
})

const listAdministrators = async (caller: TenantUser, ...filters: object[]) => {
  const request = { pagination: { asc: true }, filters }
  const { administrators, pagination } = await estate.as(caller, "listAdministrators", request)
  expect(pagination.totalResult).toBe(BigInt(administrators.length))
  return administrators.map(
    ({ user, resource }: any) =>
      `${user.id} ${resource.case} ${resource.value.id ?? resource.value}`,
  )
}

test("each level is listed to callers who can read it", async () => {
  await grantRoles("owner", "nobody", project("own"), "PROJECT_OWNER")
  const org1 = ["manager organization org1"]
  const onProject = ["nobody project own"]
  const all = ["owner instance true", ...org1, "stranger organization org2", ...onProject]
  expect((await listAdministrators("owner")).sort()).toEqual(all.sort())
  expect((await listAdministrators("manager")).sort()).toEqual([...org1, ...onProject].sort())
  expect(await listAdministrators("stranger")).toEqual(["stranger organization org2"])
  expect(await listAdministrators("nobody")).toEqual(onProject)
  await grantRoles("owner", "nobody", instance, "IAM_USER_MANAGER")
  expect(permissionsOf("IAM_USER_MANAGER").has("iam.member.read")).toBe(false)
  expect(await listAdministrators("nobody")).not.toContain("owner instance true")
})

test("a project whose id is that of an organization opens nothing of it", async () => {
  const projects = { all: false, orgs: [], projects: ["org2"], grants: [] }
  const scope = { ...projects, projects: [], kinds: { org: projects, project: projects } }
  const found = await callOperation(shares, "listAdministrators", estate.cx({ scope }))
  expect(found.administrators).toEqual([])
})

test("finds administrators by role, user, and resource, with combined and negated filters", async () => {
  const f = (kind: string, value: object) => ({ filter: { case: kind, value } })
  const role = (roleKey: string) => f("role", { roleKey })
  const name = (displayName: string, method: number) =>
    f("userDisplayName", { displayName, method })
  const owner = "owner instance true"
  const both = ["manager organization org1", "stranger organization org2"]
  expect(await listAdministrators("owner", role("IAM_OWNER"))).toEqual([owner])
  expect(await listAdministrators("owner", role("OWNER"))).toEqual([])
  expect(await listAdministrators("owner", f("resource", org("org2")))).toEqual([both[1]])
  expect(await listAdministrators("owner", f("resource", instance))).toEqual([owner])
  expect(await listAdministrators("owner", f("inUserIdsFilter", { ids: ["owner"] }))).toEqual([
    owner,
  ])
  expect(await listAdministrators("owner", f("userOrganizationId", { id: "org2" }))).toEqual([
    both[1],
  ])
  expect(await listAdministrators("owner", name("MANAGER", 3))).toEqual([both[0]])
  const login = { preferredLoginName: "stranger", method: 0 }
  expect(await listAdministrators("owner", f("userPreferredLoginName", login))).toEqual([both[1]])
  expect(
    (await listAdministrators("owner", f("not", { query: role("IAM_OWNER") }))).sort(),
  ).toEqual(both)
  const either = f("or", { queries: [role("IAM_OWNER"), f("resource", org("org2"))] })
  expect((await listAdministrators("owner", either)).sort()).toEqual([owner, both[1]].sort())
  const neither = f("and", { queries: [role("IAM_OWNER"), f("resource", org("org2"))] })
  expect(await listAdministrators("owner", neither)).toEqual([])
  const now = { seconds: BigInt(estate.clock.now() / 1000), nanos: 0 }
  expect(
    await listAdministrators("owner", f("creationDate", { timestamp: now, method: 1 })),
  ).toEqual([])
  expect(
    await listAdministrators("owner", f("creationDate", { timestamp: now, method: 2 })),
  ).toHaveLength(3)
})

test("rejects filters that are nested too deeply", async () => {
  let query: object = { filter: { case: "role", value: { roleKey: "A" } } }
  for (let depth = 0; depth < 12; depth++) query = { filter: { case: "not", value: { query } } }
  await expect(listAdministrators("owner", query)).rejects.toMatchObject({
    id: "search.filter_too_deep",
  })
})

test("listed administrators have the names of user and resource", async () => {
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

test("a membership is removed with its user or project", async () => {
  await createProject(estate.cx(), "p1", { orgId: "org1", name: "One" })
  await grantRoles("owner", "nobody", project("p1"), "PROJECT_OWNER")
  await estate.as("manager", "deleteProject", { projectId: "p1" })
  expect(rolesOf("nobody")).toEqual([])
  await grantRoles("owner", "nobody", instance, "IAM_OWNER")
  await removeUser(estate.cx(), "nobody")
  expect(rolesOf("nobody")).toEqual([])
  const again = createUser(estate.cx(), "nobody", humanInput("nobody", "org1"))
  await expect(again).rejects.toMatchObject({ code: "already_exists" })
})

test("users who can only create projects own what they create", async () => {
  await grantRoles("owner", "nobody", org("org1"), "ORG_PROJECT_CREATOR")
  const asked = { organizationId: "org1", projectId: "p1", name: "Mine" }
  await estate.as("nobody", "createProject", asked)
  await estate.as("nobody", "updateProject", { projectId: "p1", name: "Still mine" })
  expect(() => estate.as("nobody", "updateProject", { projectId: "own", name: "Core" })).toThrow(
    "project not found",
  )
  await estate.as("manager", "createProject", { ...asked, projectId: "p2" })
  expect(rolesOf("manager")).toEqual(["org org1 ORG_OWNER"])
})

test("v1 creates a project with administrators, as owners by default", async () => {
  await grantRoles("owner", "nobody", org("org1"), "ORG_PROJECT_CREATOR")
  const { id } = await estate.as("nobody", "addProject", {
    name: "Mine",
    admins: [{ userId: "manager" }, { userId: "nobody", roles: ["PROJECT_OWNER_VIEWER"] }],
  })
  expect(rolesOf("manager")).toContain(`project ${id} PROJECT_OWNER`)
  expect(rolesOf("nobody")).toContain(`project ${id} PROJECT_OWNER_VIEWER`)
})

test("a user's organizations are their own and those in which they have a role", async () => {
  const mine = async (user: TenantUser, queries: object[] = []) => {
    const { result } = await estate.as(user, "listMyProjectOrgs", { queries })
    return result.map(({ id }: { id: string }) => id).sort()
  }
  expect(await mine("nobody")).toEqual(["org1"])
  await createProject(estate.cx(), "p2", { orgId: "org2", name: "Two" })
  await grantRoles("owner", "nobody", project("p2"), "PROJECT_OWNER")
  expect(await mine("nobody")).toEqual(["org1", "org2"])
  expect(await mine("owner")).toEqual(["org1", "org2"])
  const named = { query: { case: "nameQuery", value: { name: "glob", method: 3 } } }
  expect(await mine("nobody", [named])).toEqual(["org2"])
  expect(await mine("manager", [named])).toEqual([])
})
