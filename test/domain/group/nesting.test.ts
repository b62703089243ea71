import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { effectiveGroupIds } from "../../../src/domain/group/index.ts"
import { checkNesting, groupNesting } from "../../../src/domain/group/nesting.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  for (const id of ["a", "b", "c", "d", "e", "f"]) await create(id)
})
afterEach(() => estate.close())

const create = (id: string, user: TenantUser = "manager", organizationId = "org1") =>
  estate.as(user, "createGroup", { organizationId, id, name: `Group ${id}` })
const nest = async (id: string, ...groupIds: string[]) =>
  estate.as("manager", "addGroupsToGroup", { id, groupIds })
const unnest = async (id: string, ...groupIds: string[]) =>
  estate.as("manager", "removeGroupsFromGroup", { id, groupIds })
const addUser = (id: string, userId = "nobody") =>
  estate.as("manager", "addUsersToGroup", { id, userIds: [userId] })
const groupsOf = (userId = "nobody") => effectiveGroupIds(estate.cx(), userId)
const listGroups = async (user: TenantUser, filter?: object) => {
  const filters = filter ? [{ filter }] : []
  const { memberGroups } = await estate.as(user, "listMemberGroups", { filters })
  return memberGroups.map((each: any) => [each.groupId, each.memberGroupId, each.name])
}

/** Nests each group in the previous one. */
async function chain(...ids: string[]): Promise<void> {
  for (const [at, id] of ids.slice(1).entries()) await nest(ids[at] ?? "", id)
}

describe("users of a nested group", () => {
  test("are in every containing group, each once if there are several paths", async () => {
    await chain("a", "b", "d")
    await chain("a", "c", "d")
    await addUser("d")
    expect(groupsOf()).toEqual(["a", "b", "c", "d"])
    expect(groupsOf("manager")).toEqual([])
  })

  test("leave those groups when the membership, the nesting or the group is removed", async () => {
    await chain("a", "b", "c")
    await addUser("c")
    await unnest("a", "b")
    expect(groupsOf()).toEqual(["b", "c"])
    await nest("a", "b")
    expect(groupsOf()).toEqual(["a", "b", "c"])
    await estate.as("manager", "deleteGroup", { id: "b" })
    expect(groupsOf()).toEqual(["c"])
    expect(await listGroups("manager")).toEqual([])
    await nest("a", "c")
    expect(groupsOf()).toEqual(["a", "c"])
    await estate.as("manager", "removeUsersFromGroup", { id: "c", userIds: ["nobody"] })
    expect(groupsOf()).toEqual([])
  })

  test("are found by the groups that contain them, directly or indirectly", async () => {
    await chain("a", "b", "c")
    await addUser("c")
    const found = async (filter: object) => {
      const { groups } = await estate.as("manager", "listGroups", { filters: [{ filter }] })
      return groups.map(({ id }: { id: string }) => id).toSorted()
    }
    expect(await found({ case: "userId", value: { id: "nobody" } })).toEqual(["c"])
    const effective = { case: "effectiveUserId", value: { id: "nobody" } }
    expect(await found(effective)).toEqual(["a", "b", "c"])
    expect(await found({ case: "memberGroupId", value: { id: "c" } })).toEqual(["b"])
  })
})

describe("a group never contains itself", () => {
  const cycle = { code: "failed_precondition", id: "group.cycle" }

  test("directly, through one group, or through a chain of five", async () => {
    await expect(nest("a", "a")).rejects.toMatchObject(cycle)
    await nest("a", "b")
    await expect(nest("b", "a")).rejects.toMatchObject(cycle)
    await chain("b", "c", "d", "e")
    await expect(nest("e", "a")).rejects.toMatchObject(cycle)
    expect(await listGroups("manager")).toHaveLength(4)
  })

  test("by groups that are added in one call", async () => {
    await nest("b", "c")
    await expect(nest("c", "d", "b")).rejects.toMatchObject(cycle)
    expect(await listGroups("manager")).toEqual([["b", "c", "Group c"]])
  })

  test("by two concurrent changes that are each valid", async () => {
    const both = await Promise.allSettled([nest("a", "b"), nest("b", "a")])
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"])
    expect(both[1]).toMatchObject({ reason: cycle })
    await chain("c", "d", "e")
    const longer = await Promise.allSettled([nest("b", "c"), nest("e", "a")])
    expect(longer[1]).toMatchObject({ reason: cycle })
    expect(await listGroups("manager")).toHaveLength(4)
  })

  test("queries also terminate if stored groups contain each other", async () => {
    await estate.step((tx) => {
      for (const [groupId, memberGroupId] of [
        ["a", "b"],
        ["b", "a"],
      ]) {
        const data = { groupId, memberGroupId }
        tx.append(groupNesting, "org1", [{ type: "group.group.added", data }], "org1")
      }
    })
    await addUser("a")
    expect(groupsOf()).toEqual(["a", "b"])
    await expect(nest("b", "c")).rejects.toMatchObject({ id: "group.too_deep" })
    await unnest("b", "a")
    await nest("b", "c")
  })
})

describe("groups are nested at most five levels deep", () => {
  const deep = { code: "failed_precondition", id: "group.too_deep" }

  test("at either end, and in the middle", async () => {
    await chain("a", "b", "c", "d", "e")
    await expect(nest("e", "f")).rejects.toMatchObject(deep)
    await expect(nest("f", "a")).rejects.toMatchObject(deep)
    await unnest("b", "c")
    await nest("b", "f")
    await expect(nest("f", "c")).rejects.toMatchObject(deep)
    await unnest("d", "e")
    await nest("f", "c")
    await addUser("d")
    expect(groupsOf()).toEqual(["a", "b", "c", "d", "f"])
  })

  test("by two concurrent changes that are each valid", async () => {
    await chain("a", "b", "c", "d")
    const both = await Promise.allSettled([nest("d", "e"), nest("f", "a")])
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"])
    expect(both[1]).toMatchObject({ reason: deep })
  })

  test("even if many chains of stored groups meet", () => {
    const levels = Array.from({ length: 4 }, (_, level) =>
      Array.from({ length: 40 }, (_, at) => `${level}.${at}`),
    )
    const memberGroups = Object.fromEntries(
      levels.flatMap((ids, level) => ids.map((id) => [id, levels[level + 1] ?? []] as const)),
    )
    checkNesting({ memberGroups }, { groupId: "top", memberGroupId: "0.0" })
    const below = { groupId: "3.0", memberGroupId: "5" }
    checkNesting({ memberGroups }, below)
    const longer = { memberGroups: { ...memberGroups, 5: ["6"] } }
    expect(() => checkNesting(longer, below)).toThrow("nested")
  })
})

describe("members", () => {
  test("are listed with their names, by group, by member and by name", async () => {
    await nest("a", "b", "c")
    await nest("b", "c")
    expect(await listGroups("manager", { case: "groupIds", value: { ids: ["b"] } })).toEqual([
      ["b", "c", "Group c"],
    ])
    expect(await listGroups("manager", { case: "memberGroupIds", value: { ids: ["b"] } })).toEqual([
      ["a", "b", "Group b"],
    ])
    const named = { case: "nameFilter", value: { name: "GROUP C", method: 1 } }
    expect(await listGroups("manager", named)).toHaveLength(2)
    expect(await listGroups("stranger")).toEqual([])
    await expect(listGroups("nobody")).rejects.toMatchObject({ code: "permission_denied" })
    await expect(listGroups("manager", {})).rejects.toMatchObject({ id: "search.filter_empty" })
  })

  test("don't change when they are added or removed again", async () => {
    const { changeDate } = await nest("a", "b", "b")
    expect(timestampMs(changeDate)).toBe(estate.clock.now())
    const before = estate.store.log.durable()
    await nest("a", "b")
    await unnest("a", "c", "absent")
    expect(estate.store.log.durable()).toBe(before)
  })

  test("must belong to the group's organization; otherwise none of the call is added", async () => {
    await create("x", "stranger", "org2")
    for (const other of ["x", "absent"]) {
      await expect(nest("a", "b", other)).rejects.toMatchObject({ id: "group.missing" })
      await expect(nest(other, "b")).rejects.toMatchObject({ id: "group.missing" })
    }
    await estate.as("manager", "deleteGroup", { id: "c" })
    await expect(nest("a", "c")).rejects.toMatchObject({ id: "group.missing" })
    expect(await listGroups("owner")).toEqual([])
    const many = Array.from({ length: 101 }, () => "b")
    for (const act of [nest, unnest]) {
      await expect(act("a", ...many)).rejects.toMatchObject({ id: "group.too_many_groups" })
    }
  })

  test("are deleted with the organization", async () => {
    await create("x", "stranger", "org2")
    await create("y", "stranger", "org2")
    await estate.as("stranger", "addGroupsToGroup", { id: "x", groupIds: ["y"] })
    expect(await listGroups("owner")).toHaveLength(1)
    await estate.as("owner", "deleteOrganization", { organizationId: "org2" })
    expect(await listGroups("owner")).toEqual([])
  })

  test("are limited to 10,000 for each organization", () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => `m${at}`)
    const added = { groupId: "b", memberGroupId: "c" }
    checkNesting({ memberGroups: { a: many(9998), d: ["e"] } }, added)
    const full = { memberGroups: { a: many(9999), d: ["e"] } }
    expect(() => checkNesting(full, added)).toThrow("at most 10000 groups")
  })
})
