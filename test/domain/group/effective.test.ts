import { afterEach, beforeEach, expect, test } from "vitest"
import { effectiveGroupIds } from "../../../src/domain/group/index.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  for (const id of ["g1", "g2"]) {
    const request = { organizationId: "org1", id, name: id }
    await estate.as("manager", "createGroup", request)
  }
})
afterEach(() => estate.close())

const add = (id: string, ...userIds: string[]) =>
  estate.as("manager", "addUsersToGroup", { id, userIds })
const groupsOf = (userId: string) => effectiveGroupIds(estate.cx(), userId)

test("membership changes immediately apply to a user's groups", async () => {
  expect(groupsOf("nobody")).toEqual([])
  await add("g2", "nobody", "manager")
  await add("g1", "nobody")
  expect(groupsOf("nobody")).toEqual(["g1", "g2"])
  expect(groupsOf("manager")).toEqual(["g2"])
  await estate.as("manager", "removeUsersFromGroup", { id: "g1", userIds: ["nobody"] })
  expect(groupsOf("nobody")).toEqual(["g2"])
  await estate.as("manager", "deleteGroup", { id: "g2" })
  expect(groupsOf("nobody")).toEqual([])
})
