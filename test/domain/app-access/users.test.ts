// Listing and counting the users who can use an application.
import { afterEach, beforeEach, expect, test } from "vitest"
import { countUsersOfApp, listUsersOfApp } from "../../../src/domain/app-access/users.ts"
import { createGroupAuthorization } from "../../../src/domain/authorization/group/commands.ts"
import { createAuthorization } from "../../../src/domain/authorization/index.ts"
import { addUserToGroup, createGroup } from "../../../src/domain/group/index.ts"
import { addRoles } from "../../../src/domain/project/index.ts"
import { addUser, deactivateUser } from "../../../src/domain/user/index.ts"
import { ApplicationAccessRule } from "../../../src/gen/core/application/v2/application_pb.ts"
import { humanInput, openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

const { ASSIGNED, EVERYONE, PROJECT_ROLE } = ApplicationAccessRule
const applicationIds = { applicationId: "a1", projectId: "px" }

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await estate.as("manager", "createProject", {
    ...applicationIds,
    organizationId: "org1",
    name: "Own",
  })
  await estate.as("manager", "createApplication", {
    ...applicationIds,
    name: "One",
    access: { rule: ASSIGNED },
    applicationType: { case: "apiConfiguration", value: {} },
  })
})
afterEach(() => estate.close())

const limit = (rule: ApplicationAccessRule) =>
  estate.as("manager", "updateApplication", { ...applicationIds, access: { rule } })
const assign = (subjects: object) =>
  estate.as("owner", "addApplicationAssignments", { ...applicationIds, ...subjects })
const list = (more: object = {}, user: TenantUser = "manager") =>
  estate.as(user, "listApplicationUsers", { applicationId: "a1", ...more })
const idsOf = ({ users }: any) => users.map(({ userId }: any) => userId)

/** Creates a group with new users of the organization. */
async function groupOf(id: string, userIds: readonly string[]): Promise<void> {
  await createGroup(estate.cx(), id, { orgId: "org1", name: id, description: "" })
  for (const userId of userIds) {
    await estate.step((tx) => {
      addUser(tx, userId, humanInput(userId, "org1"))
      addUserToGroup(tx, id, userId)
    })
  }
}

test("counts users, and those who are assigned only through a group", async () => {
  await groupOf("g1", ["u1", "u2", "u3"])
  await createGroup(estate.cx(), "g2", { orgId: "org1", name: "g2", description: "" })
  await estate.step((tx) => void addUserToGroup(tx, "g2", "u3"))
  await assign({ userIds: ["u1", "nobody"], groupIds: ["g1", "g2"] })
  const { users, count, nextAfterUserId } = await list()
  expect(count).toMatchObject({ users: 4, usersByGroup: 2, groups: 2, more: false })
  expect(nextAfterUserId).toBe("")
  const [{ name, preferredLoginName }] = users
  expect([name, preferredLoginName]).toEqual([
    expect.stringMatching(/./),
    expect.stringMatching(/./),
  ])
  expect(users).toMatchObject([
    { userId: "nobody", assigned: true, groupIds: [] },
    { userId: "u1", assigned: true, groupIds: ["g1"] },
    { userId: "u2", assigned: false, groupIds: ["g1"] },
    { userId: "u3", assigned: false, groupIds: ["g1", "g2"] },
  ])
})

test("returns no users if no one is assigned", async () => {
  const { users, count } = await list()
  expect([users, count]).toMatchObject([[], { users: 0, groups: 0 }])
})

test("returns pages in a stable order", async () => {
  const all = Array.from({ length: 7 }, (_, at) => `u${at}`)
  await groupOf("g1", all)
  await assign({ groupIds: ["g1"] })
  const pages: string[][] = []
  let after = ""
  do {
    const page = await list({ limit: 3, afterUserId: after })
    expect(page.count === undefined).toBe(after !== "")
    pages.push(idsOf(page))
    after = page.nextAfterUserId
  } while (after !== "")
  expect(pages).toEqual([["u0", "u1", "u2"], ["u3", "u4", "u5"], ["u6"]])
})

test("limits the number of users that are checked", async () => {
  await groupOf("g1", ["u1", "u2", "u3", "u4"])
  await assign({ groupIds: ["g1"] })
  await deactivateUser(estate.cx(), "u1")
  const options = { after: "", limit: 10, canRead: (id: string) => id !== "u3", checks: 3 }
  const page = await listUsersOfApp(estate.cx(), "a1", options)
  expect([page.users.map(({ userId }) => userId), page.next]).toEqual([["u2"], "u3"])
  const rest = await listUsersOfApp(estate.cx(), "a1", { ...options, after: page.next })
  expect([rest.users.map(({ userId }) => userId), rest.next]).toEqual([["u4"], ""])
  expect(await countUsersOfApp(estate.cx(), "a1", 3)).toMatchObject({ users: 2, more: true })
  expect(await countUsersOfApp(estate.cx(), "a1", 4)).toMatchObject({ users: 3, more: false })
})

test("lists all users in several turns of the event loop", async () => {
  const all = Array.from({ length: 450 }, (_, at) => `u${1000 + at}`)
  await groupOf("g1", all)
  await assign({ groupIds: ["g1"] })
  expect((await list()).count).toMatchObject({ users: 450, usersByGroup: 450 })
  expect(idsOf(await list({ limit: 100, afterUserId: "u1390" }))).toEqual(all.slice(391))
})

test("excludes inactive users and service accounts", async () => {
  const machine = { orgId: "org1", userName: "robot", name: "Robot" } as const
  await estate.step((tx) =>
    addUser(tx, "robot", { ...machine, kind: "machine", accessTokenType: "bearer" }),
  )
  await assign({ userIds: ["nobody", "robot"] })
  expect(idsOf(await list())).toEqual(["nobody"])
  await deactivateUser(estate.cx(), "nobody")
  expect(idsOf(await list())).toEqual([])
})

test("applies the rule and the checks of the project", async () => {
  const home = ["manager", "nobody", "owner"]
  await limit(EVERYONE)
  expect(idsOf(await list({}, "owner"))).toEqual([...home, "stranger"])
  await estate.as("manager", "updateProject", { projectId: "px", projectAccessRequired: true })
  expect(idsOf(await list({}, "owner"))).toEqual(home)
  await addRoles(estate.cx(), "px", [{ key: "a", displayName: "A", group: "" }])
  const given = { projectId: "px", orgId: "org1" }
  const system = estate.cx({ caller: { kind: "system", name: "test" } })
  await createAuthorization(system, "z1", { ...given, userId: "nobody", roleKeys: ["a"] })
  await createAuthorization(system, "z2", { ...given, userId: "manager", roleKeys: [] })
  await limit(PROJECT_ROLE)
  expect(idsOf(await list())).toEqual(["nobody"])
  await limit(EVERYONE)
  await estate.as("manager", "updateProject", { projectId: "px", authorizationRequired: true })
  expect(idsOf(await list())).toEqual(["manager", "nobody"])
})

/** Creates three groups, each nested in the previous one, each with one user. */
async function nestedGroups(): Promise<void> {
  for (const at of [1, 2, 3]) await groupOf(`g${at}`, [`u${at}`])
  for (const [id, member] of [
    ["g1", "g2"],
    ["g2", "g3"],
  ]) {
    await estate.as("manager", "addGroupsToGroup", { id, groupIds: [member] })
  }
}

test("includes users of groups that are nested in an assigned group", async () => {
  await nestedGroups()
  await assign({ groupIds: ["g2"] })
  const { users, count } = await list()
  expect(users).toMatchObject([
    { userId: "u2", assigned: false, groupIds: ["g2"] },
    { userId: "u3", assigned: false, groupIds: ["g2"] },
  ])
  expect(count).toMatchObject({ users: 2, usersByGroup: 2, groups: 1, more: false })
  await estate.as("manager", "removeGroupsFromGroup", { id: "g2", groupIds: ["g3"] })
  expect(idsOf(await list())).toEqual(["u2"])
})

test.each([
  ["the rule", { access: { rule: PROJECT_ROLE } }, {}],
  ["a check of the project", { access: { rule: EVERYONE } }, { authorizationRequired: true }],
])("includes users with a role from a group: %s", async (_, access, check) => {
  await nestedGroups()
  await estate.as("manager", "updateApplication", { ...applicationIds, ...access })
  await estate.as("manager", "updateProject", { projectId: "px", ...check })
  await addRoles(estate.cx(), "px", [{ key: "a", displayName: "A", group: "" }])
  const system = estate.cx({ caller: { kind: "system", name: "test" } })
  const given = { projectId: "px", orgId: "org1", roleKeys: ["a"] }
  await createGroupAuthorization(system, "z1", { ...given, groupId: "g2" })
  await createAuthorization(system, "z2", { ...given, userId: "nobody" })
  expect(idsOf(await list())).toEqual(["nobody", "u2", "u3"])
  await estate.as("manager", "removeUsersFromGroup", { id: "g3", userIds: ["u3"] })
  expect(idsOf(await list())).toEqual(["nobody", "u2"])
})

test("only counts users that the caller can't read", async () => {
  await assign({ userIds: ["nobody", "stranger"] })
  const page = await list()
  expect([idsOf(page), page.count.users]).toEqual([["nobody"], 2])
  expect(idsOf(await list({}, "owner"))).toEqual(["nobody", "stranger"])
  await expect(async () => list({}, "stranger")).rejects.toMatchObject({ code: "not_found" })
})
