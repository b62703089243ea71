// How roles elsewhere and instance-owned resources limit what others can do.
import { getOption } from "@bufbuild/protobuf"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { countFailedAttempt } from "../../../src/domain/lockout/lockout.ts"
import { isMember } from "../../../src/domain/member/commands.ts"
import { createRole } from "../../../src/domain/member/custom-role-commands.ts"
import {
  addMember,
  listMemberships,
  removeMember,
  type Target,
} from "../../../src/domain/member/index.ts"
import { addPolicy } from "../../../src/domain/policy/commands.ts"
import { lockout } from "../../../src/domain/policy/index.ts"
import { createProject } from "../../../src/domain/project/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { isUserActive } from "../../../src/domain/user-lookup/query.ts"
import { access } from "../../../src/gen/core/options_pb.ts"
import { loadOperations } from "../../../src/server/modules.ts"
import { humanInput, openTenant, type Tenant } from "../../support/tenant.ts"
import { callerOf } from "../../support/test-environment.ts"
import { goldenRoles } from "./matrix.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await createProject(estate.cx(), "p2", { orgId: "org2", name: "Two" })
})
afterEach(() => estate.close())

type Call = Parameters<Tenant["as"]>

/** Turns an error thrown by the access rule into a rejection. */
const as = async (...call: Call) => estate.as(...call)
const resource = (kind: string, value: unknown) => ({ resource: { case: kind, value } })
const onInstance = resource("instance", true)
const onProject = resource("projectId", "p2")
const onLevel = { level: "instance" } as const

const grantRoles = (userId: string, target: Target, ...roles: string[]) =>
  estate.step((tx) => addMember(tx, { userId, target, roles }))

/** A new user of an organization. */
const addNewUser = (id: string, orgId: string) =>
  estate.step((tx) => addUser(tx, id, humanInput(id, orgId)))

/** A user of org1 with only these permissions on the instance. */
async function createLimitedUser(...permissions: string[]) {
  const role = { key: "NARROW", displayName: "Narrow", level: "instance", permissions } as const
  await createRole(estate.cx(), role)
  await grantRoles("nobody", onLevel, "NARROW")
}

const rolesOf = (userId: string) =>
  listMemberships(estate.cx(), userId).flatMap(({ roles }) => roles)

describe("granting and revoking roles compares", () => {
  const roles = ["IAM_LOGIN_CLIENT"]
  const admins = [{ userType: { case: "userId", value: "manager" } }]
  const custom = { key: "STRONG", displayName: "Strong", permissions: ["iam.read", "user.delete"] }

  /** The rejected requests of a user with only the operation's own permission. */
  const tried: Readonly<Record<string, readonly [permission: string, ask: Call[1], object]>> = {
    "core.internal_permission.v2.InternalPermissionService/CreateAdministrator": [
      ...(["iam.member.write", "createAdministrator"] as const),
      { userId: "manager", resource: onInstance, roles },
    ],
    "core.internal_permission.v2.InternalPermissionService/UpdateAdministrator": [
      ...(["iam.member.write", "updateAdministrator"] as const),
      { userId: "owner", resource: onInstance, roles: ["NARROW"] },
    ],
    "core.internal_permission.v2.InternalPermissionService/DeleteAdministrator": [
      ...(["iam.member.delete", "deleteAdministrator"] as const),
      { userId: "owner", resource: onInstance },
    ],
    "core.internal_permission.v2.InternalPermissionService/CreateRole": [
      ...(["iam.write", "createRole"] as const),
      { ...custom, key: "OTHER", level: 1 },
    ],
    "core.internal_permission.v2.InternalPermissionService/UpdateRole": [
      ...(["iam.write", "updateRole"] as const),
      { ...custom, permissions: ["iam.write"] },
    ],
    "core.internal_permission.v2.InternalPermissionService/DeleteRole": [
      ...(["iam.write", "deleteRole"] as const),
      { key: "STRONG" },
    ],
    "core.internal_permission.v2.InternalPermissionService/CreateGroupAdministrator": [
      ...(["iam.member.write", "createGroupAdministrator"] as const),
      { groupId: "plain", resource: onInstance, roles },
    ],
    "core.internal_permission.v2.InternalPermissionService/UpdateGroupAdministrator": [
      ...(["iam.member.write", "updateGroupAdministrator"] as const),
      { groupId: "strong", resource: onInstance, roles: ["NARROW"] },
    ],
    "core.internal_permission.v2.InternalPermissionService/DeleteGroupAdministrator": [
      ...(["iam.member.delete", "deleteGroupAdministrator"] as const),
      { groupId: "strong", resource: onInstance },
    ],
    "core.group.v2.GroupService/UpdateGroup": [
      ...(["group.write", "updateGroup"] as const),
      { id: "strong", name: "Other" },
    ],
    "core.group.v2.GroupService/DeleteGroup": [
      ...(["group.delete", "deleteGroup"] as const),
      { id: "inner" },
    ],
    "core.group.v2.GroupService/AddUsersToGroup": [
      ...(["group.write", "addUsersToGroup"] as const),
      { id: "inner", userIds: ["nobody"] },
    ],
    "core.group.v2.GroupService/RemoveUsersFromGroup": [
      ...(["group.write", "removeUsersFromGroup"] as const),
      { id: "strong", userIds: ["manager"] },
    ],
    "core.group.v2.GroupService/AddGroupsToGroup": [
      ...(["group.write", "addGroupsToGroup"] as const),
      { id: "strong", groupIds: ["plain"] },
    ],
    "core.group.v2.GroupService/RemoveGroupsFromGroup": [
      ...(["group.write", "removeGroupsFromGroup"] as const),
      { id: "strong", groupIds: ["inner"] },
    ],
    "core.org.v2.OrganizationService/AddOrganization": [
      ...(["org.create", "addOrganization"] as const),
      { name: "Third", admins },
    ],
  }

  /** Creates a group with a role, a user and a member group. */
  async function addGroups() {
    const call = (name: string, request: object) => as("owner", name, request)
    for (const id of ["strong", "inner", "plain"]) {
      await call("createGroup", { organizationId: "org1", id, name: id })
    }
    await call("addUsersToGroup", { id: "strong", userIds: ["manager"] })
    await call("addGroupsToGroup", { id: "strong", groupIds: ["inner"] })
    const roleInput = { groupId: "strong", resource: onInstance, roles: ["STRONG"] }
    await call("createGroupAdministrator", roleInput)
  }

  test.each(Object.entries(tried))("%s", async (_, [permission, name, request]) => {
    await createRole(estate.cx(), { ...custom, level: "instance" })
    await addGroups()
    await createLimitedUser(permission)
    const before = estate.store.log.durable()
    const id = permission.startsWith("group.") ? "group.outranks_you" : "member.role_too_high"
    const refused = { code: "permission_denied", id }
    await expect(as("nobody", name, request)).rejects.toMatchObject(refused)
    expect(estate.store.log.durable()).toBe(before)
    expect(rolesOf("owner")).toEqual(["IAM_OWNER"])
  })

  test("every operation of that rank is covered above", async () => {
    const ranked = (await loadOperations()).filter(
      ({ method }) => getOption(method, access).rank === "roles",
    )
    const names = ranked.map(({ method }) => `${method.parent.typeName}/${method.name}`)
    expect(Object.keys(tried).toSorted()).toEqual(names.toSorted())
  })
})

describe("nobody revokes a built-in role with more permissions than their own:", () => {
  const on: Readonly<Record<string, { target: Target; resource: object }>> = {
    instance: { target: onLevel, resource: onInstance },
    org: { target: { level: "org", id: "org2" }, resource: resource("organizationId", "org2") },
    project: { target: { level: "project", id: "p2" }, resource: onProject },
  }
  const built = [...goldenRoles].filter(([, { level }]) => on[level])
  const permits = (name: string) => [...(goldenRoles.get(name)?.permissions ?? [])]

  /**
   * Callers with the broader permission can do the narrower thing, although the list does not name
   * them.
   */
  const wide: Readonly<Record<string, string>> = {
    "project.read:self": "project.read",
    "project.grant.user.grant.read": "user.grant.read",
    "user.self.delete": "user.delete",
  }
  const isIn = (held: ReadonlySet<string>, one: string) =>
    held.has(one) || held.has(wide[one] ?? one)
  const ways: Readonly<Record<string, (roleInput: object, least: string) => object>> = {
    updateAdministrator: (roleInput, least) => ({ ...roleInput, roles: [least] }),
    deleteAdministrator: (roleInput) => roleInput,
  }

  test.each(Object.entries(on))("on %s", async (level, { target, resource }) => {
    for (const [name] of built) await addNewUser(name, "org2")
    for (const [name, role] of built)
      await grantRoles(name, on[role.level]?.target ?? onLevel, name)
    const held = built.filter(([, role]) => role.level === level).map(([name]) => name)
    const [least = ""] = held.toSorted((a, b) => permits(a).length - permits(b).length)
    const again = (userId: string) =>
      estate.step((tx) => {
        if (isMember(tx, target, userId)) removeMember(tx, { userId, target })
        addMember(tx, { userId, target, roles: [userId] })
      })
    // Instance owners have all permissions, whatever the list contains.
    const others = built.filter(([name]) => name !== "IAM_OWNER")
    const tried = others.flatMap(([who, { permissions }]) =>
      held
        .filter((userId) => userId !== who)
        .flatMap((userId) =>
          Object.keys(ways).map((method) => ({ who, permissions, userId, way: method })),
        ),
    )
    const ends = new Set<string>()
    for (const { who, permissions, userId, way } of tried) {
      const request = ways[way]?.({ userId, resource }, least)
      const asked = as("nobody", way, request, { cx: { caller: callerOf(who, "org2") } })
      const end = await asked.then(
        () => "done",
        ({ id }) => String(id),
      )
      ends.add(end)
      if (end !== "done") continue
      const above = permits(userId).filter((one) => !isIn(permissions, one))
      expect([who, way, userId, above]).toEqual([who, way, userId, []])
      await again(userId)
    }
    expect([...ends]).toEqual(expect.arrayContaining(["done", "member.role_too_high"]))
  })
})

test("callers administer only users whom they can read; others are not found", async () => {
  const roles = ["PROJECT_OWNER"]
  const made = (userId: string) =>
    as("stranger", "createAdministrator", { userId, resource: onProject, roles })
  const added = (userId: string) =>
    as("stranger", "addProject", { name: "Trap", admins: [{ userId }] })
  for (const userId of ["nobody", "absent"]) {
    await expect(made(userId)).rejects.toMatchObject({ id: "user.missing" })
    await expect(added(userId)).rejects.toMatchObject({ id: "user.missing" })
  }
  const { administrators } = await as("stranger", "listAdministrators", {})
  expect(administrators.map(({ user }: any) => user.id)).toEqual(["stranger"])
  await made("stranger")
  await as("owner", "createAdministrator", { userId: "nobody", resource: onProject, roles })
})

describe("a role elsewhere shields nobody from the owner of the organization, who", () => {
  beforeEach(() => grantRoles("nobody", { level: "project", id: "p2" }, "PROJECT_OWNER"))
  const roleInput = { userId: "nobody", resource: onProject }
  const credential = { userId: "nobody", newPassword: { password: "Correct-horse-8-battery" } }

  test.each(["lockUser", "deactivateUser", "deleteUser"])("can %s", async (name) => {
    await as("manager", name, { userId: "nobody" })
    expect(isUserActive(estate.cx(), "nobody")).toBe(false)
  })

  test("must find and revoke the role before setting a password", async () => {
    const refused = { code: "permission_denied", id: "user.outranks_you" }
    await expect(as("manager", "setPassword", credential)).rejects.toMatchObject(refused)
    const email = { userId: "nobody", email: "mine@example.com" }
    await expect(as("manager", "setEmail", email)).rejects.toMatchObject(refused)
    const renamed = { userId: "nobody", username: "mine" }
    await expect(as("manager", "updateUser", renamed)).rejects.toMatchObject(refused)
    const { administrators } = await as("manager", "listAdministrators", {})
    expect(administrators.map(({ user }: any) => user.id).toSorted()).toEqual(["manager", "nobody"])
    expect((await as("manager", "deleteAdministrator", roleInput)).deletionDate).toBeDefined()
    expect(rolesOf("nobody")).toEqual([])
    await as("manager", "setPassword", credential)
  })

  test("receives a warning about users with more permissions", async () => {
    const told = async (userId: string) => {
      const answer = await as("manager", "getUserByID", { userId }, { of: "user.v2" })
      return [answer.outranksYou, answer.outranksYouElsewhere]
    }
    expect(await told("owner")).toEqual([true, true])
    expect(await told("nobody")).toEqual([false, true])
    expect(await told("manager")).toEqual([false, false])
    await as("manager", "deleteAdministrator", roleInput)
    expect(await told("nobody")).toEqual([false, false])
  })

  test("sees no resources on which the users have no role", async () => {
    const tried = (kind: string, value: unknown) =>
      as("manager", "deleteAdministrator", { ...roleInput, resource: resource(kind, value) })
    for (const id of ["org2", "absent"]) {
      await expect(tried("organizationId", id)).rejects.toMatchObject({ id: "org.missing" })
      const grant = { projectId: "p2", organizationId: id }
      await expect(tried("projectGrant", grant)).rejects.toMatchObject({ id: "grant.missing" })
    }
  })

  test("can't revoke roles on the instance or of its administrators", async () => {
    await grantRoles("nobody", onLevel, "IAM_OWNER_VIEWER")
    const refused = { code: "permission_denied" }
    await expect(as("manager", "deleteAdministrator", roleInput)).rejects.toMatchObject(refused)
    const above = { ...roleInput, resource: onInstance }
    await expect(as("manager", "deleteAdministrator", above)).rejects.toMatchObject(refused)
    await expect(as("manager", "lockUser", roleInput)).rejects.toMatchObject(refused)
    expect(rolesOf("nobody").toSorted()).toEqual(["IAM_OWNER_VIEWER", "PROJECT_OWNER"])
  })
})

describe("a deactivation by a higher-ranked user can't be reverted by a lower-ranked one:", () => {
  const nobodys = { userId: "nobody" }
  const refused = { code: "permission_denied", id: "user.stopper_outranks_you" }

  test.each([
    ["lockUser", "unlockUser"],
    ["deactivateUser", "reactivateUser"],
  ])("%s, %s", async (stop, start) => {
    await as("owner", stop, nobodys)
    await expect(as("manager", start, nobodys)).rejects.toMatchObject(refused)
    expect(isUserActive(estate.cx(), "nobody")).toBe(false)
    await as("owner", start, nobodys)
    await as("manager", stop, nobodys)
    await as("manager", start, nobodys)
    expect(isUserActive(estate.cx(), "nobody")).toBe(true)
  })

  test.each([
    ["who did it first", "owner", "manager"],
    ["who did it last", "manager", "owner"],
  ] as const)("even if another user has deactivated them, too: %s", async (_, first, second) => {
    await as(first, "lockUser", nobodys)
    await as(second, "deactivateUser", nobodys)
    await expect(as("manager", "reactivateUser", nobodys)).rejects.toMatchObject(refused)
  })

  test("but a lock by a policy can be removed, whoever triggered it", async () => {
    await addNewUser("robot", "org1")
    await grantRoles("robot", onLevel, "IAM_LOGIN_CLIENT")
    const by = { caller: callerOf("robot") }
    await addPolicy(estate.cx(), "org1", {
      policy: lockout,
      apply: () => ({ maxPasswordAttempts: 1 }),
    })
    await estate.step((tx) => countFailedAttempt(tx, "nobody"), by)
    expect(isUserActive(estate.cx(), "nobody")).toBe(false)
    await as("manager", "unlockUser", nobodys)
    expect(isUserActive(estate.cx(), "nobody")).toBe(true)
  })

  test("an organization", async () => {
    const org2 = { organizationId: "org2" }
    await as("owner", "deactivateOrganization", org2)
    await grantRoles("nobody", onLevel, "IAM_ORG_MANAGER")
    const stays = { code: "permission_denied", id: "org.outranks_you" }
    for (const name of ["activateOrganization", "deleteOrganization"]) {
      await expect(as("nobody", name, org2)).rejects.toMatchObject(stays)
    }
    await as("owner", "activateOrganization", org2)
    await as("nobody", "deactivateOrganization", org2)
    await as("nobody", "activateOrganization", org2)
  })
})

describe("instance-owned resources require iam.write, even for", () => {
  const app = { projectId: "own", name: "Trap", applicationType: { case: "apiConfiguration" } }
  const writes: readonly (readonly [string, object])[] = [
    ["createApplication", app],
    ["updateApplication", { projectId: "own", applicationId: "console", name: "Mine" }],
    ["deleteApplication", { projectId: "own", applicationId: "console" }],
    ["updateProject", { projectId: "own", name: "Mine" }],
    ["addProjectRole", { projectId: "own", roleKey: "root", displayName: "Root" }],
    ["createProjectGrant", { projectId: "own", grantedOrganizationId: "org2" }],
    ["createAdministrator", { userId: "x", resource: resource("projectId", "own"), roles: [] }],
  ]

  test.each(writes)("%s", async (name, request) => {
    await grantRoles("nobody", onLevel, "IAM_ORG_MANAGER")
    await addNewUser("steward", "org1")
    await grantRoles("steward", { level: "project", id: "own" }, "PROJECT_OWNER")
    const before = estate.store.log.durable()
    for (const who of ["nobody", "steward"]) {
      const cx = { caller: callerOf(who) }
      await expect(as("nobody", name, request, { cx })).rejects.toMatchObject({
        code: "permission_denied",
        message: "permission denied: iam.write is required",
      })
      await as("nobody", "getProject", { projectId: "own" }, { cx })
    }
    expect(estate.store.log.durable()).toBe(before)
  })

  test("and instance owners can change them", async () => {
    await as("owner", "updateProject", { projectId: "own", name: "Ours" })
  })
})

describe("user.self.delete applies in the user's own organization only, for", () => {
  test.each([
    ["deleteUser", { userId: "nobody" }],
    ["removeMyUser", {}],
  ])("%s", async (name, request) => {
    await grantRoles("nobody", { level: "org", id: "org2" }, "ORG_USER_SELF_MANAGER")
    const elsewhere = { cx: { orgId: "org2" } }
    await expect(as("nobody", name, request, elsewhere)).rejects.toMatchObject({
      code: expect.stringMatching(/^(permission_denied|not_found)$/),
    })
    expect(isUserActive(estate.cx(), "nobody")).toBe(true)
    await grantRoles("nobody", { level: "org", id: "org1" }, "ORG_USER_SELF_MANAGER")
    await as("nobody", name, request, elsewhere)
    expect(isUserActive(estate.cx(), "nobody")).toBe(false)
  })
})
