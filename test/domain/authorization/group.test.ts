// Project roles of groups: who has them, until when, and who may give them.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { grantsForScript } from "../../../src/domain/action/run/script-user.ts"
import {
  listRolesByOrg,
  ownRolesHeld,
  projectAccessOf,
} from "../../../src/domain/authorization/index.ts"
import { addRoles } from "../../../src/domain/project/index.ts"
import { exportUsers } from "../../../src/domain/transfer/users.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"
import { callerOf } from "../../support/test-environment.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  for (const [projectId, organizationId, who] of [
    ["p1", "org1", "manager"],
    ["p2", "org2", "stranger"],
  ] as const) {
    await act(who, "createProject", { organizationId, projectId, name: `Name ${projectId}` })
    const roles = ["admin", "editor", "reader"].map((key) => ({ key, displayName: `The ${key}` }))
    await estate.step((tx) => addRoles.within(tx, projectId, roles))
  }
  for (const id of ["staff", "sub"]) await createGroup(id, "manager", "org1")
  await createGroup("theirs", "stranger", "org2")
})
afterEach(() => estate.close())

const act = async (who: TenantUser, name: string, request: object): Promise<any> =>
  estate.as(who, name, request)
const createGroup = (id: string, who: TenantUser, organizationId: string) =>
  act(who, "createGroup", { organizationId, id, name: id })
const give = async (roleKeys: string[], more: object = {}, who: TenantUser = "manager") => {
  const request = { groupId: "staff", projectId: "p1", organizationId: "org1", roleKeys, ...more }
  return (await act(who, "createGroupAuthorization", request)).id as string
}
const add = (id: string, ...userIds: string[]) => act("manager", "addUsersToGroup", { id, userIds })
const held = (userId = "nobody", projectId = "p1") => listRolesByOrg(estate.cx(), userId, projectId)
const inOrg1 = (...keys: string[]) => [{ orgId: "org1", keys }]
const granted = { projectId: "p2", grantedOrganizationId: "org1" }

describe("roles of a group on a project", () => {
  test("are those of its users, and end with the membership", async () => {
    await give(["editor"])
    expect(held()).toEqual([])
    await add("staff", "nobody")
    expect(held()).toEqual(inOrg1("editor"))
    await act("manager", "removeUsersFromGroup", { id: "staff", userIds: ["nobody"] })
    expect(held()).toEqual([])
  })

  test("join the user's own and those of other groups, each once", async () => {
    await give(["editor", "reader"])
    await give(["reader", "admin"], { groupId: "sub" })
    await add("sub", "nobody")
    expect(held()).toEqual(inOrg1("reader", "admin"))
    await act("manager", "addGroupsToGroup", { id: "staff", groupIds: ["sub"] })
    const own = { userId: "nobody", projectId: "p1", organizationId: "org1", roleKeys: ["admin"] }
    await act("manager", "createAuthorization", own)
    expect(held()[0]?.keys.toSorted()).toEqual(["admin", "editor", "reader"])
    expect(held()).toHaveLength(1)
    expect(ownRolesHeld(estate.cx(), "nobody", "p1")).toEqual(inOrg1("admin"))
    await act("manager", "removeGroupsFromGroup", { id: "staff", groupIds: ["sub"] })
    expect(held()[0]?.keys.toSorted()).toEqual(["admin", "reader"])
  })

  test("change, and end with the authorization, the role, the group and the project", async () => {
    const id = await give(["editor", "reader"])
    await add("staff", "nobody")
    await act("manager", "updateGroupAuthorization", { id, roleKeys: ["admin", "reader"] })
    expect(held()).toEqual(inOrg1("admin", "reader"))
    await act("manager", "removeProjectRole", { projectId: "p1", roleKey: "admin" })
    expect(held()).toEqual(inOrg1("reader"))
    await estate.step((tx) => addRoles.within(tx, "p1", [{ key: "admin", displayName: "New" }]))
    expect(held()).toEqual(inOrg1("reader"))
    await act("manager", "deleteGroupAuthorization", { id })
    expect(held()).toEqual([])
    const gone = act("manager", "updateGroupAuthorization", { id, roleKeys: [] })
    await expect(gone).rejects.toMatchObject({ code: "not_found" })
    await give(["reader"])
    expect(held()).toEqual(inOrg1("reader"))
    await act("manager", "deleteGroup", { id: "staff" })
    expect(held()).toEqual([])
    await add("sub", "nobody")
    await give(["reader"], { groupId: "sub" })
    await act("manager", "deleteProject", { projectId: "p1" })
    expect(held()).toEqual([])
    const { groupAuthorizations } = await act("manager", "listGroupAuthorizations", {})
    expect(groupAuthorizations).toEqual([])
  })

  test("let users in where the project requires a role", async () => {
    await act("manager", "updateProject", { projectId: "p1", authorizationRequired: true })
    const enters = () => projectAccessOf(estate.cx(), "nobody", "p1")
    await add("staff", "nobody")
    expect(enters()).toBe("no roles")
    const id = await give([])
    expect(enters()).toBe("yes")
    await act("manager", "updateGroupAuthorization", { id, roleKeys: ["admin"] })
    expect(enters()).toBe("yes")
    await act("manager", "removeProjectRole", { projectId: "p1", roleKey: "admin" })
    expect(enters()).toBe("no roles")
  })

  test("of a granted project are limited by the grant, and end with it", async () => {
    const over = { projectId: "p2" }
    await expect(give(["reader"], over, "owner")).rejects.toMatchObject({ code: "not_found" })
    await act("stranger", "createProjectGrant", { ...granted, roleKeys: ["reader", "editor"] })
    const unknown = give(["admin"], over)
    await expect(unknown).rejects.toMatchObject({ id: "authorization.role_unknown" })
    await give(["reader", "editor"], over)
    await add("staff", "nobody")
    expect(held("nobody", "p2")).toEqual(inOrg1("reader", "editor"))
    await act("stranger", "updateProjectGrant", { ...granted, roleKeys: ["editor"] })
    expect(held("nobody", "p2")).toEqual(inOrg1("editor"))
    await act("stranger", "deactivateProjectGrant", granted)
    expect(held("nobody", "p2")).toEqual([])
    await act("stranger", "activateProjectGrant", granted)
    expect(held("nobody", "p2")).toEqual(inOrg1("editor"))
    await act("stranger", "deleteProjectGrant", granted)
    expect(held("nobody", "p2")).toEqual([])
  })

  test("never cross organizations", async () => {
    const foreign = give(["reader"], { groupId: "theirs" })
    await expect(foreign).rejects.toMatchObject({ code: "not_found", id: "group.missing" })
    await act("stranger", "createProjectGrant", { ...granted, roleKeys: ["reader"] })
    const overGrant = give(["reader"], { groupId: "theirs", projectId: "p2" })
    await expect(overGrant).rejects.toMatchObject({ id: "group.missing" })
    const id = await give(["reader"])
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

  test("are one for a group and a project, also when ten ask at once", async () => {
    const all = await Promise.allSettled(Array.from({ length: 10 }, () => give(["reader"])))
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
    const again = give(["reader"])
    await expect(again).rejects.toMatchObject({ id: "authorization.exists" })
    const { groupAuthorizations } = await act("manager", "listGroupAuthorizations", {})
    await act("manager", "deleteGroupAuthorization", { id: groupAuthorizations[0].id })
    await give(["reader"])
  })

  test("are no roles of the user's own in an export", async () => {
    await give(["editor"])
    await add("staff", "nobody")
    const home = { orgId: "org1", projectId: "p1" }
    const carried = { withPasswords: false, withOtp: false }
    const people = await Array.fromAsync(exportUsers(estate.cx(), home, carried as never))
    const exported = people.find(({ id }) => id === "nobody")
    expect(exported).toMatchObject({ groups: ["staff"], roles: [] })
  })

  test("are shown to scripts and targets with the user's own", async () => {
    const id = await give(["editor"])
    await add("staff", "nobody")
    const { grants } = grantsForScript(estate.cx(), "nobody")
    expect(grants).toMatchObject([{ id, userId: "nobody", roles: ["editor"], projectId: "p1" }])
  })
})

describe("whoever changes a group with project roles", () => {
  test("must be able to give these roles", async () => {
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
    const id = await give(["reader"])
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
  const found = async (who: TenantUser, filter?: object) => {
    const filters = filter ? [{ filter }] : []
    const answer = await act(who, "listGroupAuthorizations", { filters, sortingColumn: 4 })
    return answer.groupAuthorizations
  }

  test("show the roles that groups have, with names, by each filter", async () => {
    const id = await give(["reader", "editor"])
    await give(["admin"], { groupId: "sub" })
    await act("stranger", "createProjectGrant", { ...granted, roleKeys: ["reader"] })
    await give(["reader"], { projectId: "p2" })
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

  test("show all roles of a user, and what gives them, as far as the caller can see", async () => {
    const groupGrant = await give(["editor"])
    await act("stranger", "createProjectGrant", { ...granted, roleKeys: ["reader"] })
    await give(["reader"], { projectId: "p2", groupId: "sub" })
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
