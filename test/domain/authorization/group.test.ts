// Authorizations of groups: which users have the roles, until when, and who can assign them.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { grantsForScript } from "../../../src/domain/action/run/script-user.ts"
import {
  listOwnRolesByOrg,
  listRolesByOrg,
  projectAccessOf,
} from "../../../src/domain/authorization/index.ts"
import { addRoles } from "../../../src/domain/project/index.ts"
import { exportUsers } from "../../../src/domain/transfer/users.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"
import { callerOf } from "../../support/test-environment.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  for (const [projectId, organizationId, user] of [
    ["p1", "org1", "manager"],
    ["p2", "org2", "stranger"],
  ] as const) {
    await act(user, "createProject", { organizationId, projectId, name: `Name ${projectId}` })
    const roles = ["admin", "editor", "reader"].map((key) => ({ key, displayName: `The ${key}` }))
    await estate.step((tx) => addRoles.within(tx, projectId, roles))
  }
  for (const id of ["staff", "sub"]) await createGroup(id, "manager", "org1")
  await createGroup("theirs", "stranger", "org2")
})
afterEach(() => estate.close())

const act = async (user: TenantUser, name: string, request: object): Promise<any> =>
  estate.as(user, name, request)
const createGroup = (id: string, user: TenantUser, organizationId: string) =>
  act(user, "createGroup", { organizationId, id, name: id })
const authorizeGroup = async (
  roleKeys: string[],
  more: object = {},
  user: TenantUser = "manager",
) => {
  const request = { groupId: "staff", projectId: "p1", organizationId: "org1", roleKeys, ...more }
  return (await act(user, "createGroupAuthorization", request)).id as string
}
const add = (id: string, ...userIds: string[]) => act("manager", "addUsersToGroup", { id, userIds })
const listRoles = (userId = "nobody", projectId = "p1") =>
  listRolesByOrg(estate.cx(), userId, projectId)
const inOrg1 = (...keys: string[]) => [{ orgId: "org1", keys }]
const granted = { projectId: "p2", grantedOrganizationId: "org1" }

describe("roles of a group on a project", () => {
  test("apply to its users until the membership ends", async () => {
    await authorizeGroup(["editor"])
    expect(listRoles()).toEqual([])
    await add("staff", "nobody")
    expect(listRoles()).toEqual(inOrg1("editor"))
    await act("manager", "removeUsersFromGroup", { id: "staff", userIds: ["nobody"] })
    expect(listRoles()).toEqual([])
  })

  test("are merged with the user's own roles and those of other groups, each once", async () => {
    await authorizeGroup(["editor", "reader"])
    await authorizeGroup(["reader", "admin"], { groupId: "sub" })
    await add("sub", "nobody")
    expect(listRoles()).toEqual(inOrg1("reader", "admin"))
    await act("manager", "addGroupsToGroup", { id: "staff", groupIds: ["sub"] })
    const own = { userId: "nobody", projectId: "p1", organizationId: "org1", roleKeys: ["admin"] }
    await act("manager", "createAuthorization", own)
    expect(listRoles()[0]?.keys.toSorted()).toEqual(["admin", "editor", "reader"])
    expect(listRoles()).toHaveLength(1)
    expect(listOwnRolesByOrg(estate.cx(), "nobody", "p1")).toEqual(inOrg1("admin"))
    await act("manager", "removeGroupsFromGroup", { id: "staff", groupIds: ["sub"] })
    expect(listRoles()[0]?.keys.toSorted()).toEqual(["admin", "reader"])
  })

  test("change with the authorization, and end with it or its role, group or project", async () => {
    const id = await authorizeGroup(["editor", "reader"])
    await add("staff", "nobody")
    await act("manager", "updateGroupAuthorization", { id, roleKeys: ["admin", "reader"] })
    expect(listRoles()).toEqual(inOrg1("admin", "reader"))
    await act("manager", "removeProjectRole", { projectId: "p1", roleKey: "admin" })
    expect(listRoles()).toEqual(inOrg1("reader"))
    await estate.step((tx) => addRoles.within(tx, "p1", [{ key: "admin", displayName: "New" }]))
    expect(listRoles()).toEqual(inOrg1("reader"))
    await act("manager", "deleteGroupAuthorization", { id })
    expect(listRoles()).toEqual([])
    const update = act("manager", "updateGroupAuthorization", { id, roleKeys: [] })
    await expect(update).rejects.toMatchObject({ code: "not_found" })
    await authorizeGroup(["reader"])
    expect(listRoles()).toEqual(inOrg1("reader"))
    await act("manager", "deleteGroup", { id: "staff" })
    expect(listRoles()).toEqual([])
    await add("sub", "nobody")
    await authorizeGroup(["reader"], { groupId: "sub" })
    await act("manager", "deleteProject", { projectId: "p1" })
    expect(listRoles()).toEqual([])
    const { groupAuthorizations } = await act("manager", "listGroupAuthorizations", {})
    expect(groupAuthorizations).toEqual([])
  })

  test("admit users if the project requires a role", async () => {
    await act("manager", "updateProject", { projectId: "p1", authorizationRequired: true })
    const enters = () => projectAccessOf(estate.cx(), "nobody", "p1")
    await add("staff", "nobody")
    expect(enters()).toBe("no roles")
    const id = await authorizeGroup([])
    expect(enters()).toBe("yes")
    await act("manager", "updateGroupAuthorization", { id, roleKeys: ["admin"] })
    expect(enters()).toBe("yes")
    await act("manager", "removeProjectRole", { projectId: "p1", roleKey: "admin" })
    expect(enters()).toBe("no roles")
  })

  test("on a granted project are limited by the project grant, and end with it", async () => {
    const grantedProject = { projectId: "p2" }
    await expect(authorizeGroup(["reader"], grantedProject, "owner")).rejects.toMatchObject({
      code: "not_found",
    })
    await act("stranger", "createProjectGrant", { ...granted, roleKeys: ["reader", "editor"] })
    const unknown = authorizeGroup(["admin"], grantedProject)
    await expect(unknown).rejects.toMatchObject({ id: "authorization.role_unknown" })
    await authorizeGroup(["reader", "editor"], grantedProject)
    await add("staff", "nobody")
    expect(listRoles("nobody", "p2")).toEqual(inOrg1("reader", "editor"))
    await act("stranger", "updateProjectGrant", { ...granted, roleKeys: ["editor"] })
    expect(listRoles("nobody", "p2")).toEqual(inOrg1("editor"))
    await act("stranger", "deactivateProjectGrant", granted)
    expect(listRoles("nobody", "p2")).toEqual([])
    await act("stranger", "activateProjectGrant", granted)
    expect(listRoles("nobody", "p2")).toEqual(inOrg1("editor"))
    await act("stranger", "deleteProjectGrant", granted)
    expect(listRoles("nobody", "p2")).toEqual([])
  })

  test("are limited to groups and projects of the same organization", async () => {
    const foreign = authorizeGroup(["reader"], { groupId: "theirs" })
    await expect(foreign).rejects.toMatchObject({ code: "not_found", id: "group.missing" })
    await act("stranger", "createProjectGrant", { ...granted, roleKeys: ["reader"] })
    const overGrant = authorizeGroup(["reader"], { groupId: "theirs", projectId: "p2" })
    await expect(overGrant).rejects.toMatchObject({ id: "group.missing" })
    const id = await authorizeGroup(["reader"])
    for (const [name, request] of [
      ["updateGroupAuthorization", { id, roleKeys: [] }],
      ["deleteGroupAuthorization", { id }],
      ["createGroupAuthorization", { groupId: "staff", projectId: "p1", organizationId: "org1" }],
    ] as const) {
      await expect(act("stranger", name, request)).rejects.toMatchObject({ code: "not_found" })
    }
    const { groupAuthorizations } = await act("stranger", "listGroupAuthorizations", {})
    expect(groupAuthorizations).toEqual([])
  })

  test("exist once for each group and project, even with ten concurrent requests", async () => {
    const all = await Promise.allSettled(
      Array.from({ length: 10 }, () => authorizeGroup(["reader"])),
    )
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
    const again = authorizeGroup(["reader"])
    await expect(again).rejects.toMatchObject({ id: "authorization.exists" })
    const { groupAuthorizations } = await act("manager", "listGroupAuthorizations", {})
    await act("manager", "deleteGroupAuthorization", { id: groupAuthorizations[0].id })
    await authorizeGroup(["reader"])
  })

  test("are not exported as the user's own roles", async () => {
    await authorizeGroup(["editor"])
    await add("staff", "nobody")
    const home = { orgId: "org1", projectId: "p1" }
    const options = { withPasswords: false, withOtp: false }
    const allUsers = await Array.fromAsync(exportUsers(estate.cx(), home, options as never))
    const exported = allUsers.find(({ id }) => id === "nobody")
    expect(exported).toMatchObject({ groups: ["staff"], roles: [] })
  })

  test("are passed to scripts and targets with the user's own", async () => {
    const id = await authorizeGroup(["editor"])
    await add("staff", "nobody")
    const { grants } = grantsForScript(estate.cx(), "nobody")
    expect(grants).toMatchObject([{ id, userId: "nobody", roles: ["editor"], projectId: "p1" }])
  })
})

describe("changing a group with project roles", () => {
  test("requires permission to assign these roles", async () => {
    const level = 2
    const permissions = ["group.write", "group.delete", "group.read"]
    await act("owner", "createRole", { key: "KEEPER", displayName: "K", level, permissions })
    const resource = { resource: { case: "organizationId", value: "org1" } }
    const keeper = { userId: "nobody", resource, roles: ["KEEPER"] }
    await act("owner", "createAdministrator", keeper)
    await act("manager", "addGroupsToGroup", { id: "staff", groupIds: ["sub"] })
    const users = { id: "sub", userIds: ["nobody"] }
    const changes = [
      ["addUsersToGroup", users],
      ["removeUsersFromGroup", users],
      ["removeGroupsFromGroup", { id: "staff", groupIds: ["sub"] }],
      ["addGroupsToGroup", { id: "staff", groupIds: ["sub"] }],
      ["deleteGroup", { id: "sub" }],
    ] as const
    const id = await authorizeGroup(["reader"])
    const denied = { code: "permission_denied", id: "group.roles_denied" }
    for (const [name, request] of changes.filter(([name]) => name !== "removeUsersFromGroup")) {
      if (name === "addGroupsToGroup") continue
      await expect(act("nobody", name, request), name).rejects.toMatchObject(denied)
    }
    await act("manager", "deleteGroupAuthorization", { id })
    for (const [name, request] of changes) await act("nobody", name, request)
  })
})

describe("lists", () => {
  const found = async (user: TenantUser, filter?: object) => {
    const filters = filter ? [{ filter }] : []
    const answer = await act(user, "listGroupAuthorizations", { filters, sortingColumn: 4 })
    return answer.groupAuthorizations
  }

  test("show the roles of groups, with names, by each filter", async () => {
    const id = await authorizeGroup(["reader", "editor"])
    await authorizeGroup(["admin"], { groupId: "sub" })
    await act("stranger", "createProjectGrant", { ...granted, roleKeys: ["reader"] })
    await authorizeGroup(["reader"], { projectId: "p2" })
    const [first] = await found("manager", { case: "authorizationIds", value: { ids: [id] } })
    expect(first).toMatchObject({
      id,
      project: { id: "p1", name: "Name p1", organizationId: "org1" },
      organization: { id: "org1", name: "Acme" },
      group: { id: "staff", name: "staff" },
    })
    expect(first.roles.map(({ key }: { key: string }) => key)).toEqual(["editor", "reader"])
    expect(await found("manager", { case: "groupIds", value: { ids: ["staff"] } })).toHaveLength(2)
    expect(await found("manager", { case: "projectId", value: { id: "p1" } })).toHaveLength(2)
    const named = { case: "groupName", value: { name: "SUB", method: 1 } }
    expect(await found("manager", named)).toHaveLength(1)
    const project = { case: "projectName", value: { name: "name p2", method: 1 } }
    expect(await found("manager", project)).toHaveLength(1)
    expect(await found("manager", { case: "organizationId", value: { id: "org2" } })).toEqual([])
    expect(await found("stranger")).toHaveLength(1)
    await expect(found("nobody")).rejects.toMatchObject({ code: "permission_denied" })
  })

  test("show all roles of a user and their sources that the caller can see", async () => {
    const groupGrant = await authorizeGroup(["editor"])
    await act("stranger", "createProjectGrant", { ...granted, roleKeys: ["reader"] })
    await authorizeGroup(["reader"], { projectId: "p2", groupId: "sub" })
    await act("manager", "addGroupsToGroup", { id: "staff", groupIds: ["sub"] })
    await add("sub", "nobody")
    const own = { userId: "nobody", projectId: "p1", organizationId: "org1", roleKeys: ["admin"] }
    const { id } = await act("manager", "createAuthorization", own)
    const seen = async (ask: TenantUser | "user", projectId?: string) => {
      const request = { userId: "nobody", ...(projectId && { projectId }) }
      const as = ask === "user" ? "nobody" : ask
      const { effectiveRoles } = await act(as, "listEffectiveRoles", request)
      return effectiveRoles.map((each: any) => [
        each.project.id,
        each.roles[0].key,
        each.organization.id,
        each.group?.name ?? "",
      ])
    }
    const all = [
      ["p1", "admin", "org1", ""],
      ["p1", "editor", "org1", "staff"],
      ["p2", "reader", "org1", "sub"],
    ]
    expect((await seen("manager")).toSorted()).toEqual(all)
    expect((await seen("user")).toSorted()).toEqual(all)
    expect(await seen("manager", "p2")).toEqual([all[2]])
    expect(await seen("user", "absent")).toEqual([])
    await expect(seen("stranger")).rejects.toMatchObject({ code: "not_found" })
    const { effectiveRoles } = await act("owner", "listEffectiveRoles", { userId: "nobody" })
    const ids = effectiveRoles.map((each: any) => each.authorizationId)
    expect(ids).toEqual(expect.arrayContaining([id, groupGrant]))
    const cx = { caller: callerOf("deputy") }
    expect(() => estate.as("nobody", "listEffectiveRoles", { userId: "nobody" }, { cx })).toThrow()
  })
})
