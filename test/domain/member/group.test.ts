// Administrator roles of groups: what they permit, and who can change groups that have them.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { addUserToGroup, ensureGroup, findGroupByName } from "../../../src/domain/group/index.ts"
import { listMemberships, outranks, outranksInstance } from "../../../src/domain/member/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { humanInput, openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"
import { callerOf } from "../../support/test-environment.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await estate.step((tx) => {
    for (const id of ["clerk", "eve", "deputy"]) addUser(tx, id, humanInput(id, "org1"))
  })
  const clerk = { userId: "clerk", resource: onOrg("org1"), roles: ["ORG_USER_MANAGER"] }
  await act("owner", "createAdministrator", clerk)
  for (const id of ["staff", "admins", "sub"]) {
    await act("manager", "createGroup", { organizationId: "org1", id, name: id })
  }
})
afterEach(() => estate.close())

const onInstance = { resource: { case: "instance", value: true } }
const onOrg = (value: string) => ({ resource: { case: "organizationId", value } })
const onProject = (value: string) => ({ resource: { case: "projectId", value } })

const act = async (user: TenantUser, name: string, request: object): Promise<any> =>
  estate.as(user, name, request)
const by = async (userId: string, name: string, request: object): Promise<any> =>
  estate.as("nobody", name, request, { cx: { caller: callerOf(userId) } })

const assignRoles = (
  groupId: string,
  resource: object,
  roles: string[],
  user: TenantUser = "owner",
) => act(user, "createGroupAdministrator", { groupId, resource, roles })
const add = (id: string, ...userIds: string[]) => act("owner", "addUsersToGroup", { id, userIds })
const nest = (id: string, ...groupIds: string[]) =>
  act("owner", "addGroupsToGroup", { id, groupIds })
const listRoles = (userId: string) =>
  listMemberships(estate.cx(), userId).map(({ level, id, roles }) => [level, id, ...roles])
const rename = (userName: string) =>
  by(userName, "updateOrganization", { organizationId: "org1", name: userName })
const denied = { code: "permission_denied" }
const tooHigh = { code: "permission_denied", id: "group.outranks_you" }

describe("roles of a group", () => {
  test("apply to its users until the membership ends", async () => {
    await assignRoles("admins", onOrg("org1"), ["ORG_OWNER"])
    await expect(rename("eve")).rejects.toMatchObject(denied)
    await add("admins", "eve")
    expect(listRoles("eve")).toEqual([["org", "org1", "ORG_OWNER"]])
    await rename("eve")
    await act("owner", "removeUsersFromGroup", { id: "admins", userIds: ["eve"] })
    expect(listRoles("eve")).toEqual([])
    await expect(rename("eve")).rejects.toMatchObject(denied)
  })

  test("apply to users of nested groups until the nesting or the group is removed", async () => {
    await assignRoles("admins", onOrg("org1"), ["ORG_OWNER"])
    await add("sub", "eve")
    await nest("admins", "sub")
    await rename("eve")
    await act("owner", "removeGroupsFromGroup", { id: "admins", groupIds: ["sub"] })
    await expect(rename("eve")).rejects.toMatchObject(denied)
    await nest("admins", "sub")
    await rename("eve")
    await act("owner", "deleteGroup", { id: "admins" })
    expect(listRoles("eve")).toEqual([])
  })

  test("change and end immediately", async () => {
    await assignRoles("admins", onOrg("org1"), ["ORG_OWNER"])
    await add("admins", "eve")
    const of = { groupId: "admins", resource: onOrg("org1") }
    const viewer = { ...of, roles: ["ORG_OWNER_VIEWER"] }
    await act("owner", "updateGroupAdministrator", viewer)
    await expect(rename("eve")).rejects.toMatchObject(denied)
    expect(listRoles("eve")).toEqual([["org", "org1", "ORG_OWNER_VIEWER"]])
    await act("owner", "deleteGroupAdministrator", of)
    expect(listRoles("eve")).toEqual([])
    expect((await act("owner", "deleteGroupAdministrator", of)).deletionDate).toBeUndefined()
    const update = act("owner", "updateGroupAdministrator", viewer)
    await expect(update).rejects.toMatchObject({ id: "member.missing" })
  })

  test("apply on the instance, on projects and within decisions", async () => {
    await act("manager", "createProject", { organizationId: "org1", projectId: "p1", name: "P" })
    await assignRoles("staff", onProject("p1"), ["PROJECT_OWNER"])
    await add("staff", "eve")
    await by("eve", "updateProject", { projectId: "p1", name: "Eve's" })
    const viewer = { userId: "deputy", resource: onProject("p1"), roles: ["PROJECT_OWNER_VIEWER"] }
    await by("eve", "createAdministrator", viewer)
    const owner = { userId: "deputy", resource: onOrg("org1"), roles: ["ORG_OWNER_VIEWER"] }
    await expect(by("eve", "createAdministrator", owner)).rejects.toMatchObject(denied)
    await assignRoles("admins", onInstance, ["IAM_OWNER"])
    await add("admins", "eve")
    await by("eve", "createAdministrator", owner)
    expect(outranksInstance(estate.cx({ caller: callerOf("eve") }))).toBe(true)
  })

  test("are limited to groups and resources of the same organization", async () => {
    for (const [groupId, resource] of [
      ["admins", onOrg("org2")],
      ["absent", onOrg("org1")],
    ] as const) {
      const given = assignRoles(groupId, resource, ["ORG_OWNER"])
      await expect(given).rejects.toMatchObject({ code: "not_found", id: "group.missing" })
    }
    await act("stranger", "createProject", { organizationId: "org2", projectId: "p2", name: "P" })
    const assignment = assignRoles("admins", onProject("p2"), ["PROJECT_OWNER"])
    await expect(assignment).rejects.toMatchObject({ id: "group.missing" })
    const granted = { projectId: "p2", grantedOrganizationId: "org1", roleKeys: [] }
    await act("stranger", "createProjectGrant", granted)
    const value = { projectId: "p2", organizationId: "org1" }
    const onGrant = { resource: { case: "projectGrant", value } }
    await assignRoles("admins", onGrant, ["PROJECT_GRANT_OWNER"])
    await add("admins", "eve")
    expect(listRoles("eve")).toEqual([["grant", expect.any(String), "PROJECT_GRANT_OWNER"]])
    const removed = { projectId: "p2", grantedOrganizationId: "org1" }
    await act("stranger", "deleteProjectGrant", removed)
    expect(listRoles("eve")).toEqual([])
  })

  test("end with the organization of the group", async () => {
    await act("stranger", "createGroup", { organizationId: "org2", id: "x", name: "x" })
    await assignRoles("x", onInstance, ["IAM_ORG_MANAGER"])
    await act("stranger", "createGroup", { organizationId: "org2", id: "y", name: "y" })
    const { groupAdministrators } = await act("owner", "listGroupAdministrators", {})
    expect(groupAdministrators).toHaveLength(1)
    await act("owner", "deleteOrganization", { organizationId: "org2" })
    expect((await act("owner", "listGroupAdministrators", {})).groupAdministrators).toEqual([])
  })

  test("are not the user's own: the last owner can't be removed", async () => {
    await assignRoles("admins", onInstance, ["IAM_OWNER"])
    await add("admins", "eve")
    const last = { userId: "owner", resource: onInstance }
    const removed = by("eve", "deleteAdministrator", last)
    await expect(removed).rejects.toMatchObject({ id: "instance.last_owner" })
    const own = { userId: "eve", resource: onInstance }
    expect((await act("owner", "deleteAdministrator", own)).deletionDate).toBeUndefined()
    expect(listRoles("eve")).toHaveLength(1)
  })
})

describe("a group has the rank of its roles", () => {
  const member = { id: "admins", userIds: ["clerk"] }

  test("for callers who add or remove users, rename or delete it", async () => {
    await by("clerk", "addUsersToGroup", { id: "staff", userIds: ["clerk"] })
    await assignRoles("admins", onOrg("org1"), ["ORG_OWNER"])
    await add("admins", "eve")
    for (const [name, request] of [
      ["addUsersToGroup", member],
      ["addUsersToGroup", { ...member, userIds: ["nobody"] }],
      ["removeUsersFromGroup", { ...member, userIds: ["eve"] }],
      ["addGroupsToGroup", { id: "admins", groupIds: ["staff"] }],
      ["updateGroup", { id: "admins", name: "Mine" }],
      ["deleteGroup", { id: "admins" }],
    ] as const) {
      await expect(by("clerk", name, request), name).rejects.toMatchObject(tooHigh)
    }
    expect(listRoles("eve")).toHaveLength(1)
    expect(listRoles("nobody")).toEqual([])
  })

  test("including the roles of all groups that contain it", async () => {
    await assignRoles("admins", onOrg("org1"), ["ORG_OWNER"])
    await nest("admins", "sub")
    await nest("sub", "staff")
    for (const id of ["sub", "staff"]) {
      const added = by("clerk", "addUsersToGroup", { id, userIds: ["clerk"] })
      await expect(added).rejects.toMatchObject(tooHigh)
    }
    const removed = by("clerk", "removeGroupsFromGroup", { id: "sub", groupIds: ["staff"] })
    await expect(removed).rejects.toMatchObject(tooHigh)
    await act("owner", "removeGroupsFromGroup", { id: "admins", groupIds: ["sub"] })
    await by("clerk", "addUsersToGroup", { id: "staff", userIds: ["clerk"] })
    const nested = by("clerk", "addGroupsToGroup", { id: "admins", groupIds: ["sub"] })
    await expect(nested).rejects.toMatchObject(tooHigh)
    expect(listRoles("clerk")).toEqual([["org", "org1", "ORG_USER_MANAGER"]])
  })

  test("and no one can assign or remove roles that they don't have", async () => {
    await add("staff", "manager")
    const owner = assignRoles("staff", onInstance, ["IAM_OWNER"], "manager")
    await expect(owner).rejects.toMatchObject(denied)
    await assignRoles("staff", onOrg("org1"), ["ORG_OWNER"], "manager")
    const custom = {
      key: "HELPER",
      level: 2,
      permissions: ["org.member.write", "org.member.delete"],
    }
    await act("owner", "createRole", { ...custom, displayName: "Helper" })
    await act("owner", "createAdministrator", {
      userId: "deputy",
      resource: onOrg("org1"),
      roles: ["HELPER"],
    })
    const of = { groupId: "staff", resource: onOrg("org1") }
    for (const [name, request] of [
      ["createGroupAdministrator", { ...of, groupId: "sub", roles: ["ORG_OWNER"] }],
      ["updateGroupAdministrator", { ...of, roles: ["HELPER"] }],
      ["deleteGroupAdministrator", of],
    ] as const) {
      const attempt = by("deputy", name, request)
      await expect(attempt, name).rejects.toMatchObject({ id: "member.role_too_high" })
    }
  })

  test("in an import, which finds groups by name", async () => {
    await assignRoles("admins", onOrg("org1"), ["ORG_OWNER"])
    const addition = estate.step((tx) => void addUserToGroup(tx, "admins", "eve"), {
      caller: callerOf("clerk"),
    })
    await expect(addition).rejects.toMatchObject(tooHigh)
    await ensureGroup(estate.cx({ caller: callerOf("clerk") }), "org1", "ADMINS")
    await estate.step((tx) => expect(findGroupByName(tx, "org1", "Admins")).toBe("admins"))
  })

  test("also for callers who change its users", async () => {
    await assignRoles("admins", onOrg("org1"), ["ORG_OWNER"])
    const cx = estate.cx({ caller: callerOf("clerk") })
    expect(outranks(cx, "eve", "home")).toBe(true)
    await add("admins", "eve")
    expect(outranks(cx, "eve", "home")).toBe(false)
    const locked = by("clerk", "lockUser", { userId: "eve" })
    await expect(locked).rejects.toMatchObject({ id: "user.outranks_you" })
    await act("manager", "lockUser", { userId: "eve" })
  })
})

describe("credentials that others created for users must be confirmed before", () => {
  const unconfirmed = { code: "failed_precondition", id: "member.credentials_unconfirmed" }
  beforeEach(async () => {
    const cx = estate.cx({ caller: callerOf("manager") })
    await setPassword(cx, "eve", { hash: "hash of a password", changeRequired: false })
  })

  test("the group gets roles", async () => {
    await add("sub", "eve")
    await nest("staff", "sub")
    const of = { groupId: "staff", resource: onInstance, roles: ["IAM_OWNER"] }
    const given = act("owner", "createGroupAdministrator", of)
    await expect(given).rejects.toMatchObject(unconfirmed)
    const { preconditions } = await given.catch((cause) => cause)
    const confirmedCredentials = preconditions.map(({ subject }: { subject: string }) => subject)
    await act("owner", "createGroupAdministrator", { ...of, confirmedCredentials })
    expect(listRoles("eve")).toHaveLength(1)
  })

  test("the group has roles and they are added, directly or with another group", async () => {
    await assignRoles("admins", onInstance, ["IAM_OWNER"])
    await expect(add("admins", "eve")).rejects.toMatchObject(unconfirmed)
    await add("staff", "eve")
    await expect(nest("admins", "staff")).rejects.toMatchObject(unconfirmed)
    expect(listRoles("eve")).toEqual([])
    const { preconditions } = await add("admins", "eve").catch((cause) => cause)
    const confirmedCredentials = preconditions.map(({ subject }: { subject: string }) => subject)
    const nested = { id: "admins", groupIds: ["staff"], confirmedCredentials }
    await act("owner", "addGroupsToGroup", nested)
    expect(listRoles("eve")).toHaveLength(1)
  })

  test("a role of a group receives more permissions", async () => {
    const custom = { key: "HELPER", displayName: "Helper", level: 1, permissions: ["user.read"] }
    await act("owner", "createRole", custom)
    await assignRoles("staff", onInstance, ["HELPER"])
    const { preconditions } = await add("staff", "eve").catch((cause) => cause)
    const confirmedCredentials = preconditions.map(({ subject }: { subject: string }) => subject)
    await act("owner", "addUsersToGroup", { id: "staff", userIds: ["eve"], confirmedCredentials })
    const more = { key: "HELPER", permissions: ["user.read", "iam.write"] }
    await expect(act("owner", "updateRole", more)).rejects.toMatchObject(unconfirmed)
    await act("owner", "updateRole", { ...more, confirmedCredentials })
    const removed = act("owner", "deleteRole", { key: "HELPER" })
    await expect(removed).rejects.toMatchObject({ id: "role.in_use" })
  })
})

describe("lists", () => {
  test("show the roles of groups, by group, resource and role", async () => {
    await assignRoles("admins", onOrg("org1"), ["ORG_OWNER"])
    await assignRoles("admins", onInstance, ["IAM_OWNER_VIEWER"])
    await assignRoles("staff", onOrg("org1"), ["ORG_USER_MANAGER", "ORG_OWNER_VIEWER"])
    const found = async (filter?: object, user: TenantUser = "owner") => {
      const filters = filter ? [{ filter }] : []
      const { groupAdministrators } = await act(user, "listGroupAdministrators", { filters })
      return groupAdministrators.map((each: any) => [each.group.name, ...each.roles]).toSorted()
    }
    expect(await found()).toHaveLength(3)
    expect(await found({ case: "inGroupIdsFilter", value: { ids: ["staff"] } })).toEqual([
      ["staff", "ORG_USER_MANAGER", "ORG_OWNER_VIEWER"],
    ])
    expect(await found({ case: "groupName", value: { name: "ADM", method: 5 } })).toHaveLength(2)
    expect(await found({ case: "groupOrganizationId", value: { id: "org2" } })).toEqual([])
    expect(await found({ case: "role", value: { roleKey: "ORG_OWNER" } })).toEqual([
      ["admins", "ORG_OWNER"],
    ])
    expect(await found({ case: "resource", value: onInstance })).toEqual([
      ["admins", "IAM_OWNER_VIEWER"],
    ])
    expect(await found(undefined, "manager")).toHaveLength(2)
    expect(await found(undefined, "stranger")).toEqual([])
  })

  test("show all administrator roles of a user, with their groups", async () => {
    await assignRoles("admins", onOrg("org1"), ["ORG_OWNER"])
    await assignRoles("staff", onInstance, ["IAM_OWNER_VIEWER"])
    await nest("admins", "staff")
    await add("staff", "clerk")
    const seen = async (ask: (name: string, request: object) => Promise<any>) => {
      const { effectiveAdministrators } = await ask("listEffectiveAdministrators", {
        userId: "clerk",
      })
      return effectiveAdministrators
        .map(({ resource, roles, group }: any) => [resource.case, ...roles, group?.name ?? ""])
        .toSorted()
    }
    const inOrg = [
      ["organization", "ORG_OWNER", "admins"],
      ["organization", "ORG_USER_MANAGER", ""],
    ]
    const all = [["instance", "IAM_OWNER_VIEWER", "staff"], ...inOrg]
    expect(await seen((...call) => by("clerk", ...call))).toEqual(all)
    expect(await seen((...call) => act("owner", ...call))).toEqual(all)
    expect(await seen((...call) => act("manager", ...call))).toEqual(inOrg)
    const foreign = seen((...call) => act("stranger", ...call))
    await expect(foreign).rejects.toMatchObject({ code: "not_found" })
  })
})
