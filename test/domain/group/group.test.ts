import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { shares } from "../../../src/domain/group/api.ts"
import { callOperation } from "../../support/call-operation.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const createGroup = async (
  id: string,
  name: string,
  user: TenantUser = "manager",
  organizationId = "org1",
) => estate.as(user, "createGroup", { organizationId, id, name, description: `${name}!` })
const getGroup = async (id: string) => (await estate.as("manager", "getGroup", { id })).group
const callAsManager = async (name: string, request: object) => estate.as("manager", name, request)
const listGroups = async (user: TenantUser, request: object = {}) => {
  const { groups, pagination } = await estate.as(user, "listGroups", request)
  return { ids: groups.map(({ id }: { id: string }) => id), total: pagination.totalResult }
}

test("a group is available immediately, with the given values", async () => {
  const { id, creationDate } = await createGroup("g1", "  Admins ")
  expect(id).toBe("g1")
  expect(timestampMs(creationDate)).toBe(estate.clock.now())
  expect(await getGroup("g1")).toMatchObject({
    id: "g1",
    name: "Admins",
    description: "Admins !",
    organizationId: "org1",
    creationDate,
    changeDate: creationDate,
  })
})

test("an ID is generated if omitted, and never reused after a deletion", async () => {
  const { id } = await createGroup("", "One")
  expect(id).toMatch(/^\d{15,18}$/)
  await expect(createGroup(id, "Two")).rejects.toMatchObject({ id: "group.exists" })
  await estate.as("manager", "deleteGroup", { id })
  await expect(createGroup(id, "Two")).rejects.toMatchObject({ id: "group.exists" })
})

test("only the given fields change, and an update without changes keeps the date", async () => {
  await createGroup("g1", "One")
  estate.clock.advance(1000)
  const renamed = await estate.as("manager", "updateGroup", { id: "g1", name: "Two" })
  expect(timestampMs(renamed.changeDate)).toBe(estate.clock.now())
  expect(await getGroup("g1")).toMatchObject({ name: "Two", description: "One!" })
  await estate.as("manager", "updateGroup", { id: "g1", description: "" })
  expect(await getGroup("g1")).toMatchObject({ name: "Two", description: "" })
  const then = estate.clock.now()
  estate.clock.advance(1000)
  const same = await estate.as("manager", "updateGroup", { id: "g1", name: "Two" })
  expect(timestampMs(same.changeDate)).toBe(then)
})

test("different sigmas do not make two names distinct", async () => {
  await createGroup("g1", "Φίλος.μέλος")
  for (const name of ["ΦΊΛΟΣ.ΜΈΛΟΣ", "φίλοσ.μέλοσ"]) {
    await expect(createGroup("g2", name)).rejects.toMatchObject({ id: "group.name_taken" })
  }
  await estate.as("manager", "updateGroup", { id: "g1", name: "ΦΊΛΟΣ.ΜΈΛΟΣ" })
  await estate.as("manager", "deleteGroup", { id: "g1" })
  await createGroup("g2", "φίλος.μέλος")
})

test.each([["admins"], ["ADMINS"], ["Ａdmins"], [" Admins"], ["Adm\u2060ins"], ["Admins\u2800"]])(
  "a name is unique in any case (%s)",
  async (name) => {
    await createGroup("g1", "Admins")
    await expect(createGroup("g2", name)).rejects.toMatchObject({ id: "group.name_taken" })
    await createGroup("g3", "Others")
    const taken = estate.as("manager", "updateGroup", { id: "g3", name })
    await expect(taken).rejects.toMatchObject({ id: "group.name_taken" })
    await createGroup("g4", name, "stranger", "org2")
  },
)

test("a name is free after its group is renamed or deleted", async () => {
  await createGroup("g1", "One")
  await estate.as("manager", "updateGroup", { id: "g1", name: "ONE" })
  await expect(createGroup("g2", "one")).rejects.toMatchObject({ id: "group.name_taken" })
  await estate.as("manager", "updateGroup", { id: "g1", name: "Two" })
  await createGroup("g2", "one")
  await estate.as("manager", "deleteGroup", { id: "g2" })
  await createGroup("g3", "One")
})

test("one of two concurrent creations with the same name succeeds", async () => {
  const tried = await Promise.allSettled(["g1", "g2", "g3"].map((id) => createGroup(id, "Same")))
  expect(tried.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
})

test.each([
  ["an empty name", { name: " " }],
  ["a name with a line break", { name: "a\nb" }],
  ["a long description", { name: "A", description: "x".repeat(201) }],
  ["a description of control characters", { name: "A", description: "a\u0007" }],
])("rejects %s", async (_, more) => {
  const tried = estate.as("manager", "createGroup", { organizationId: "org1", ...more })
  await expect(tried).rejects.toMatchObject({ code: "invalid_argument" })
})

test("a deleted group is not found, and deleting it again changes nothing", async () => {
  await createGroup("g1", "One")
  await estate.as("manager", "deleteGroup", { id: "g1" })
  for (const name of ["getGroup", "updateGroup", "deleteGroup"]) {
    await expect(callAsManager(name, { id: "g1" })).rejects.toMatchObject({ id: "group.missing" })
  }
  expect(await listGroups("manager")).toEqual({ ids: [], total: 0n })
  const again = { id: "g1" }
  await expect(callOperation(shares, "deleteGroup", estate.cx(), again)).resolves.toBeTruthy()
  await expect(callOperation(shares, "updateGroup", estate.cx(), again)).rejects.toMatchObject({
    id: "group.missing",
  })
})

test("groups of another organization are not found", async () => {
  await createGroup("g1", "One")
  await createGroup("g2", "Two", "stranger", "org2")
  for (const name of ["getGroup", "updateGroup", "deleteGroup"]) {
    const answers = await Promise.all(
      ["g2", "absent"].map((id) => callAsManager(name, { id }).catch((fault) => fault)),
    )
    expect(answers.map(({ id, message }) => [id, message])[0]).toEqual([
      "group.missing",
      answers[1].message,
    ])
  }
  await expect(createGroup("g3", "Three", "manager", "org2")).rejects.toMatchObject({
    id: "org.missing",
  })
  expect(await listGroups("manager")).toEqual({ ids: ["g1"], total: 1n })
  expect(await listGroups("stranger")).toEqual({ ids: ["g2"], total: 1n })
  expect(await listGroups("owner", { pagination: { asc: true } })).toMatchObject({ total: 2n })
  await expect(listGroups("nobody")).rejects.toMatchObject({ code: "permission_denied" })
})

test("a group is removed with its organization", async () => {
  await createGroup("g2", "Two", "stranger", "org2")
  await estate.as("owner", "deleteOrganization", { organizationId: "org2" })
  expect(await listGroups("owner")).toEqual({ ids: [], total: 0n })
  const tried = async () => estate.as("owner", "updateGroup", { id: "g2", name: "Mine" })
  await expect(tried()).rejects.toMatchObject({ id: "group.missing" })
  await expect(createGroup("g3", "Three", "owner", "org2")).rejects.toMatchObject({
    id: "org.missing",
  })
})

test("finds groups by ID, name, and organization, sorted and paged", async () => {
  for (const [id, name] of [
    ["g1", "Beta"],
    ["g2", "alpha"],
    ["g3", "Gamma"],
  ] as const) {
    estate.clock.advance(1000)
    await createGroup(id, name)
  }
  await createGroup("g4", "Beta", "stranger", "org2")
  estate.clock.advance(1000)
  await estate.as("manager", "updateGroup", { id: "g1", description: "new" })
  const by = async (filter: object) =>
    (await listGroups("owner", { filters: [{ filter }], pagination: { asc: true } })).ids
  expect(await by({ case: "groupIds", value: { ids: ["g2", "g4", "no"] } })).toEqual(["g2", "g4"])
  expect(await by({ case: "nameFilter", value: { name: "beta", method: 1 } })).toEqual(["g1", "g4"])
  expect(await by({ case: "organizationId", value: { id: "org2" } })).toEqual(["g4"])
  expect(await by({ case: "organizationId", value: { id: "" } })).toEqual([])
  await expect(by({})).rejects.toMatchObject({ id: "search.filter_empty" })

  const sorted = async (sortingColumn: number, asc = true) =>
    (await listGroups("manager", { sortingColumn, pagination: { asc } })).ids
  expect(await sorted(1)).toEqual(["g1", "g2", "g3"])
  expect(await sorted(2, false)).toEqual(["g3", "g2", "g1"])
  expect(await sorted(3)).toEqual(["g2", "g3", "g1"])
  expect(await sorted(4)).toEqual(["g2", "g1", "g3"])
  const window = { pagination: { asc: true, offset: 1n, limit: 1 } }
  expect(await listGroups("manager", window)).toEqual({ ids: ["g2"], total: 3n })
})

describe("a group membership", () => {
  beforeEach(async () => {
    await createGroup("g1", "One")
    await createGroup("g2", "Two")
    await createGroup("g3", "Three", "stranger", "org2")
  })

  const turn = (name: string, id: string, ...userIds: readonly string[]) =>
    callAsManager(name, { id, userIds })
  const inside = async (user: TenantUser, ...filters: readonly object[]) => {
    const request = { filters: filters.map((filter) => ({ filter })), pagination: { asc: true } }
    const { groupUsers, pagination } = await estate.as(user, "listGroupUsers", request)
    const pairs = groupUsers.map(({ groupId, userId }: { groupId: string; userId: string }) => [
      groupId,
      userId,
    ])
    expect(pagination.totalResult).toBe(BigInt(pairs.length))
    return pairs
  }

  test("is listed with names, and found by group, user, and name", async () => {
    await turn("addUsersToGroup", "g1", "nobody", "manager")
    await turn("addUsersToGroup", "g2", "nobody")
    expect(await inside("manager")).toHaveLength(3)
    expect(await inside("manager", { case: "groupIds", value: { ids: ["g2"] } })).toEqual([
      ["g2", "nobody"],
    ])
    expect(await inside("manager", { case: "userIds", value: { ids: ["manager"] } })).toEqual([
      ["g1", "manager"],
    ])
    const named = { case: "nameFilter", value: { name: "NOBOD", method: 5 } }
    expect(await inside("manager", named)).toHaveLength(2)
    const theirs = { filters: [{ filter: { case: "userId", value: { id: "nobody" } } }] }
    expect((await listGroups("manager", theirs)).ids.toSorted()).toEqual(["g1", "g2"])
    await expect(inside("manager", {})).rejects.toMatchObject({ id: "search.filter_empty" })
  })

  test("is added or removed once, and repeating it keeps the date", async () => {
    const { changeDate } = await turn("addUsersToGroup", "g1", "nobody", "nobody")
    expect(timestampMs(changeDate)).toBe(estate.clock.now())
    const before = estate.store.log.durable()
    await turn("addUsersToGroup", "g1", "nobody")
    await turn("removeUsersFromGroup", "g1", "manager", "absent")
    expect(estate.store.log.durable()).toBe(before)
    await turn("removeUsersFromGroup", "g1", "nobody")
    expect(await inside("manager")).toEqual([])
    await turn("addUsersToGroup", "g1", "nobody")
    expect(await inside("manager")).toEqual([["g1", "nobody"]])
  })

  test("requires the same organization, or the call adds nobody", async () => {
    for (const other of ["stranger", "absent"]) {
      const tried = turn("addUsersToGroup", "g1", "nobody", other)
      await expect(tried).rejects.toMatchObject({ id: "user.missing" })
    }
    expect(await inside("owner")).toEqual([])
    for (const name of ["addUsersToGroup", "removeUsersFromGroup"]) {
      await expect(turn(name, "g3", "stranger")).rejects.toMatchObject({ id: "group.missing" })
      const many = Array.from({ length: 101 }, () => "nobody")
      await expect(turn(name, "g1", ...many)).rejects.toMatchObject({ id: "group.too_many_users" })
    }
    await estate.as("stranger", "addUsersToGroup", { id: "g3", userIds: ["stranger"] })
    expect(await inside("manager")).toEqual([])
    expect(await inside("stranger")).toEqual([["g3", "stranger"]])
    await expect(inside("nobody")).rejects.toMatchObject({ code: "permission_denied" })
  })

  test("is removed with the user, the group, or the organization", async () => {
    await turn("addUsersToGroup", "g1", "nobody")
    await turn("addUsersToGroup", "g2", "nobody", "manager")
    await estate.as("manager", "deleteGroup", { id: "g1" })
    expect(await inside("manager")).toHaveLength(2)
    await estate.as("manager", "deleteUser", { userId: "nobody" })
    expect(await inside("manager")).toEqual([["g2", "manager"]])
    const again = turn("addUsersToGroup", "g2", "nobody")
    await expect(again).rejects.toMatchObject({ id: "user.missing" })
    await estate.as("stranger", "addUsersToGroup", { id: "g3", userIds: ["stranger"] })
    await estate.as("owner", "deleteOrganization", { organizationId: "org2" })
    expect(await inside("owner")).toEqual([["g2", "manager"]])
  })
})
