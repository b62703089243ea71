import { afterEach, beforeEach, expect, test } from "vitest"
import { addAuthorization } from "../../../src/domain/authorization/index.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { addGrant } from "../../../src/domain/project-grant/index.ts"
import { ApplicationAccessRule } from "../../../src/gen/core/application/v2/application_pb.ts"
import { EntryCondition, Reason } from "../../../src/gen/core/history/v2/history_service_pb.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await act("manager", "createProject", { organizationId: "org1", projectId: "p1", name: "One" })
})
afterEach(() => estate.close())

const act = async (user: TenantUser, name: string, request: object = {}) =>
  estate.as(user, name, request)

const permission = (userId: string, value: string, where: object) => ({
  userId,
  subject: { case: "permission", value },
  ...where,
})
const operation = (userId: string, value: string, where: object) => ({
  userId,
  subject: { case: "operation", value: `core.${value}` },
  ...where,
})
const getReason = (user: TenantUser, request: object) => act(user, "getPermissionReason", request)
const p1 = { resource: "project", id: "p1" }
const update = "project.v2.ProjectService/UpdateProject"

test("a granting role is returned with its resource, granter, and time", async () => {
  await act("owner", "createAdministrator", {
    userId: "nobody",
    resource: { resource: { case: "projectId", value: "p1" } },
    roles: ["PROJECT_OWNER"],
  })
  const reason = await getReason("manager", permission("nobody", "project.write", p1))
  expect(reason).toMatchObject({ allowed: true, reason: Reason.ROLE, organizationId: "org1" })
  expect(reason.holdings).toMatchObject([
    {
      level: "project",
      id: "p1",
      name: "One",
      reaches: true,
      roles: ["PROJECT_OWNER"],
      grantingRoles: ["PROJECT_OWNER"],
      givenBy: { userId: "owner", displayName: "owner Person" },
    },
  ])
  expect(reason.holdings[0].givenDate).toBeDefined()
})

test("roles of a group are returned with the group, granter, and time", async () => {
  await act("manager", "createGroup", { organizationId: "org1", id: "g1", name: "Staff" })
  await act("manager", "addUsersToGroup", { id: "g1", userIds: ["nobody"] })
  await act("owner", "createGroupAdministrator", {
    groupId: "g1",
    resource: { resource: { case: "projectId", value: "p1" } },
    roles: ["PROJECT_OWNER"],
  })
  const reason = await getReason("manager", permission("nobody", "project.write", p1))
  const givenBy = { userId: "owner", displayName: "owner Person" }
  const group = { groupId: "g1", groupName: "Staff" }
  expect(reason.holdings).toMatchObject([{ ...group, grantingRoles: ["PROJECT_OWNER"], givenBy }])
  await act("manager", "createApplication", {
    projectId: "p1",
    applicationId: "a1",
    name: "App",
    applicationType: { case: "api", value: {} },
  })
  await act("owner", "createGroupAuthorization", {
    groupId: "g1",
    projectId: "p1",
    organizationId: "org1",
    roleKeys: [],
  })
  const entry = { userId: "nobody", applicationId: "a1" }
  const { roles } = await act("manager", "getEntryReason", entry)
  expect(roles).toMatchObject([{ ...group, counts: true, organizationId: "org1", givenBy }])
})

test("roles apply to lower levels, and granting roles come first", async () => {
  const reason = await getReason("owner", permission("owner", "project.write", p1))
  expect(reason.holdings[0]).toMatchObject({ level: "instance", reaches: true })
  const ofManager = await getReason("owner", permission("manager", "project.write", p1))
  expect(ofManager.holdings).toMatchObject([
    { level: "org", id: "org1", name: "Acme", grantingRoles: ["ORG_OWNER"] },
  ])
})

test("a denial names the missing permission, or that it is held elsewhere", async () => {
  const none = await getReason("manager", permission("nobody", "project.write", p1))
  expect(none).toMatchObject({
    allowed: false,
    reason: Reason.NO_PERMISSION,
    refusal: "access.denied",
    holdings: [],
    words: "permission denied: project.write is required",
  })
  const elsewhere = await getReason("owner", permission("stranger", "project.write", p1))
  expect(elsewhere).toMatchObject({ allowed: false, reason: Reason.ELSEWHERE })
  expect(elsewhere.holdings).toMatchObject([
    { id: "org2", grantingRoles: ["ORG_OWNER"], reaches: false },
  ])
})

test("an operation is decided by its full rule: internal, own account, and rank", async () => {
  expect(await getReason("manager", operation("manager", update, { id: "p1" }))).toMatchObject({
    allowed: true,
    permission: "project.write",
    resource: "project",
  })
  const own = await getReason("owner", operation("manager", update, { id: "own" }))
  expect(own).toMatchObject({ allowed: false, reason: Reason.ELSEWHERE })
  const lock = "user.v2.UserService/LockUser"
  const owner = await getReason("owner", operation("manager", lock, { id: "owner" }))
  expect(owner).toMatchObject({ reason: Reason.FORBIDDEN, refusal: "user.outranks_you" })
  const read = "user.v2.UserService/GetUserByID"
  expect(await getReason("manager", operation("nobody", read, { id: "nobody" }))).toMatchObject({
    allowed: true,
    reason: Reason.SELF,
  })
  expect(
    await getReason(
      "manager",
      operation("nobody", "diagnosis.v2.DiagnosisService/ListScriptMoments", {}),
    ),
  ).toMatchObject({ allowed: true, reason: Reason.OPEN })
})

test("the explanation matches the operation's own decision", async () => {
  const people = ["owner", "manager", "nobody", "stranger"] as const
  const asked = [
    [update, "updateProject", { projectId: "p1", name: "Two" }, "p1"],
    ["user.v2.UserService/LockUser", "lockUser", { userId: "manager" }, "manager"],
    ["user.v2.UserService/DeleteUser", "deleteUser", { userId: "owner" }, "owner"],
  ] as const
  for (const [name, method, request, id] of asked) {
    for (const person of people) {
      const { allowed } = await getReason("owner", operation(person, name, { id }))
      const tried = await act(person, method, request).then(
        () => true,
        ({ id: fault }: any) =>
          !["access.denied", "project.missing", "user.missing", "user.outranks_you"].includes(
            fault,
          ),
      )
      expect([person, name, tried]).toEqual([person, name, allowed])
      if (tried && method === "lockUser") await act("owner", "unlockUser", { userId: "manager" })
    }
  }
})

test("reveals no resources or users outside the caller's access", async () => {
  await act("stranger", "createProject", { organizationId: "org2", projectId: "p2", name: "Two" })
  const there = { resource: "project", id: "p2" }
  const absent = { resource: "project", id: "p404" }
  for (const where of [there, absent]) {
    await expect(
      getReason("manager", permission("nobody", "project.read", where)),
    ).rejects.toMatchObject({ id: "project.missing" })
  }
  await expect(
    getReason("stranger", permission("nobody", "project.read", there)),
  ).rejects.toMatchObject({
    code: "not_found",
  })
  for (const bad of [
    permission("nobody", "project.read", { resource: "spaceship", id: "1" }),
    operation("nobody", "project.v2.ProjectService/Nothing", {}),
    operation("nobody", update, { resource: "user", id: "nobody" }),
    { userId: "nobody" },
  ]) {
    await expect(getReason("manager", bad)).rejects.toMatchObject({ code: "invalid_argument" })
  }
})

const app = async () => {
  await act("manager", "createApplication", {
    projectId: "p1",
    applicationId: "a1",
    name: "App",
    applicationType: { case: "oidc", value: {} },
  })
}
const getEntryReason = (user: TenantUser, userId: string) =>
  act(user, "getEntryReason", { userId, applicationId: "a1" })

test("explains access to an application, with the roles", async () => {
  await app()
  expect(await getEntryReason("manager", "nobody")).toMatchObject({ allowed: true, roles: [] })
  await act("manager", "updateProject", { projectId: "p1", authorizationRequired: true })
  const out = await getEntryReason("manager", "nobody")
  expect(out.allowed).toBe(false)
  expect(out.checks.filter(({ met }: any) => !met)).toMatchObject([
    { condition: EntryCondition.ROLES_GIVEN },
  ])
  await act("manager", "addProjectRole", { projectId: "p1", roleKey: "a", displayName: "A" })
  const given = { projectId: "p1", orgId: "org1", userId: "nobody", roleKeys: ["a"] }
  await estate.step((tx) => addAuthorization(tx, "u1", given))
  const inside = await getEntryReason("manager", "nobody")
  expect(inside).toMatchObject({
    allowed: true,
    roles: [{ authorizationId: "u1", roleKeys: ["a"], counts: true, organizationName: "Acme" }],
  })
  await act("manager", "deactivateAuthorization", { id: "u1" })
  expect(await getEntryReason("manager", "nobody")).toMatchObject({
    allowed: false,
    roles: [{ roleKeys: [], counts: false }],
  })
})

test("the access rule of an application is a condition if it limits access", async () => {
  await app()
  const named = { projectId: "p1", applicationId: "a1" }
  const limit = (rule: ApplicationAccessRule) =>
    act("manager", "updateApplication", { ...named, access: { rule } })
  const conditions = async () => {
    const { allowed, checks } = await getEntryReason("manager", "nobody")
    const [last] = checks.slice(-1)
    return [allowed, last.condition, last.met]
  }
  await limit(ApplicationAccessRule.ASSIGNED)
  expect(await conditions()).toEqual([false, EntryCondition.ASSIGNED, false])
  await act("manager", "addApplicationAssignments", { ...named, userIds: ["nobody"] })
  expect(await conditions()).toEqual([true, EntryCondition.ASSIGNED, true])
  await limit(ApplicationAccessRule.PROJECT_ROLE)
  expect(await conditions()).toEqual([false, EntryCondition.PROJECT_ROLE, false])
  await act("manager", "addProjectRole", { projectId: "p1", roleKey: "a", displayName: "A" })
  const given = { projectId: "p1", orgId: "org1", userId: "nobody", roleKeys: ["a"] }
  await estate.step((tx) => addAuthorization(tx, "u1", given))
  expect(await conditions()).toEqual([true, EntryCondition.PROJECT_ROLE, true])
  await limit(ApplicationAccessRule.EVERYONE)
  expect(await conditions()).toEqual([true, EntryCondition.APPLICATION_ACTIVE, true])
})

test("users of other organizations need a project grant if the project requires it", async () => {
  await app()
  await act("manager", "updateProject", { projectId: "p1", projectAccessRequired: true })
  const unmet = async () =>
    (await getEntryReason("owner", "stranger")).checks
      .filter(({ met }: any) => !met)
      .map(({ condition }: any) => condition)
  expect(await unmet()).toEqual([EntryCondition.PROJECT_GRANTED])
  await estate.step((tx) =>
    addGrant(tx, "g1", { projectId: "p1", grantedOrgId: "org2", roleKeys: [] }),
  )
  expect(await unmet()).toEqual([])
  await act("owner", "deactivateUser", { userId: "stranger" })
  expect(await unmet()).toEqual([EntryCondition.USER_ACTIVE])
  await expect(getEntryReason("manager", "stranger")).rejects.toMatchObject({ id: "user.missing" })
})

test("finds roles granted by the instance, with the granter", async () => {
  await estate.step((tx) =>
    addMember(tx, { userId: "nobody", target: { level: "instance" }, roles: ["IAM_OWNER_VIEWER"] }),
  )
  const reason = await getReason("owner", permission("nobody", "project.read", p1))
  expect(reason.holdings).toMatchObject([
    { level: "instance", grantingRoles: ["IAM_OWNER_VIEWER"] },
  ])
  expect(reason.holdings[0].givenDate).toBeDefined()
})
