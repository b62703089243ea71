// Assignments of users and groups to applications.
import { afterEach, beforeEach, expect, test } from "vitest"
import { assignmentsOf } from "../../../src/domain/app-access/index.ts"
import { removeUser } from "../../../src/domain/user/index.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

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
    applicationType: { case: "apiConfiguration", value: {} },
  })
  await createGroup("g1")
  await createGroup("g2", "stranger", "org2")
})
afterEach(() => estate.close())

const createGroup = (id: string, user: TenantUser = "manager", organizationId = "org1") =>
  estate.as(user, "createGroup", { id, organizationId, name: `Group ${id}` })
const add = (subjects: object, user: TenantUser = "manager") =>
  estate.as(user, "addApplicationAssignments", { ...applicationIds, ...subjects })
const remove = (subjects: object, user: TenantUser = "manager") =>
  estate.as(user, "removeApplicationAssignments", { ...applicationIds, ...subjects })
const listStored = () => assignmentsOf(estate.cx(), "a1")
const list = async (user: TenantUser = "manager", filters: readonly object[] = []) =>
  (await estate.as(user, "listApplicationAssignments", { filters })).assignments

test("users and groups are assigned once, and removed", async () => {
  await add({ userIds: ["nobody"], groupIds: ["g1"] })
  const events = async () => (await estate.store.log.read(0, 1000)).length
  const before = await events()
  await add({ userIds: ["nobody"], groupIds: ["g1"] })
  expect(await events()).toBe(before)
  expect(listStored()).toEqual({ userIds: ["nobody"], groupIds: ["g1"] })
  await remove({ userIds: ["nobody", "owner"], groupIds: ["g1"] })
  expect(listStored()).toEqual({ userIds: [], groupIds: [] })
})

test("all subjects of a call are assigned, or none", async () => {
  const refused: readonly (readonly [object, string])[] = [
    [{ userIds: ["nobody", "stranger"] }, "user.missing"],
    [{ userIds: ["nobody", "absent"] }, "user.missing"],
    [{ userIds: ["nobody"], groupIds: ["g2"] }, "group.missing"],
    [{ userIds: ["nobody"], groupIds: ["absent"] }, "group.missing"],
    [{ userIds: Array.from({ length: 101 }, () => "nobody") }, "app.too_many_assignments"],
  ]
  for (const [subjects, id] of refused) {
    await expect(async () => add(subjects)).rejects.toMatchObject({ id })
  }
  expect(listStored()).toEqual({ userIds: [], groupIds: [] })
})

test("the instance owner can assign users of other organizations, but no groups", async () => {
  await add({ userIds: ["stranger"] }, "owner")
  await expect(async () => add({ groupIds: ["g2"] }, "owner")).rejects.toMatchObject({
    id: "group.missing",
  })
  expect(listStored()).toEqual({ userIds: ["stranger"], groupIds: [] })
})

test("no one else can change or see assignments", async () => {
  await add({ userIds: ["nobody"] })
  for (const person of ["nobody", "stranger"] as const) {
    await expect(async () => add({ userIds: ["owner"] }, person)).rejects.toThrow()
    await expect(async () => remove({ userIds: ["nobody"] }, person)).rejects.toThrow()
  }
  await expect(async () => list("nobody")).rejects.toMatchObject({ code: "permission_denied" })
  expect(await list("stranger")).toEqual([])
  expect(listStored()).toEqual({ userIds: ["nobody"], groupIds: [] })
})

test("the project of a request must be that of the application", async () => {
  await expect(async () => add({ projectId: "own", userIds: ["nobody"] })).rejects.toMatchObject({
    code: "not_found",
  })
})

test("the list names groups, and users whom the caller can read", async () => {
  await add({ userIds: ["nobody", "stranger"], groupIds: ["g1"] }, "owner")
  const byOwner = await list("owner")
  expect(byOwner).toHaveLength(3)
  expect(byOwner.every(({ name }: { name: string }) => name !== "")).toBe(true)
  const filters = [{ filter: { case: "userId", value: { id: "stranger" } } }]
  const [seen] = await list("manager", filters)
  expect(seen).toMatchObject({ subject: { case: "userId", value: "stranger" } })
  expect([seen.name, seen.preferredLoginName]).toEqual(["", ""])
  const [grouped] = await list("manager", [{ filter: { case: "groupId", value: { id: "g1" } } }])
  expect(grouped).toMatchObject({ applicationId: "a1", name: "Group g1" })
  const ofOther = [{ filter: { case: "applicationId", value: { id: "console" } } }]
  expect(await list("owner", ofOther)).toEqual([])
})

test.each([
  ["the user", () => removeUser(estate.cx(), "nobody"), { userIds: [], groupIds: ["g1"] }],
  [
    "the group",
    () => estate.as("manager", "deleteGroup", { id: "g1" }),
    { userIds: ["nobody"], groupIds: [] },
  ],
  [
    "the application",
    () => estate.as("manager", "deleteApplication", applicationIds),
    { userIds: [], groupIds: [] },
  ],
  [
    "the project",
    () => estate.as("manager", "deleteProject", { projectId: "px" }),
    { userIds: [], groupIds: [] },
  ],
] as const)("an assignment is deleted with %s", async (_, act, rest) => {
  await add({ userIds: ["nobody"], groupIds: ["g1"] })
  await act()
  expect(listStored()).toEqual(rest)
})
