import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { customRoles } from "../../../src/domain/member/custom-role.ts"
import { outranks } from "../../../src/domain/member/index.ts"
import { type Estate, openEstate, type Person } from "../../support/estate.ts"
import { callerOf } from "../../support/world.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const level = { instance: 1, org: 2, project: 3, grant: 4 } as const
const onInstance = { resource: { case: "instance", value: true } }
const onOrg = (value: string) => ({ resource: { case: "organizationId", value } })

const act = async (who: Person, name: string, request: object) => estate.as(who, name, request)
const make = (key: string, on: keyof typeof level, ...permissions: string[]) =>
  act("owner", "createRole", { key, displayName: `${key}!`, level: level[on], permissions })
const give = (who: Person, userId: string, resource: object, ...roles: string[]) =>
  act(who, "createAdministrator", { userId, resource, roles })
const listed = async (who: Person, request: object = {}) => act(who, "listRoles", request)
const found = async (key: string) =>
  (await listed("owner")).roles.find((role: { key: string }) => role.key === key)

test("a role permits what it says where it is held, and nowhere else", async () => {
  await expect(act("nobody", "listGroups", {})).rejects.toMatchObject({ code: "permission_denied" })
  await make("HELPDESK", "org", "user.read", "group.read")
  await give("owner", "nobody", onOrg("org1"), "HELPDESK")
  await act("manager", "createGroup", { organizationId: "org1", id: "g1", name: "One" })
  await act("stranger", "createGroup", { organizationId: "org2", id: "g2", name: "Two" })
  expect((await act("nobody", "listGroups", {})).pagination.totalResult).toBe(1n)
  await expect(act("nobody", "getGroup", { id: "g2" })).rejects.toMatchObject({ code: "not_found" })
  await expect(act("nobody", "deleteGroup", { id: "g1" })).rejects.toMatchObject({
    code: "permission_denied",
  })
})

test("a change counts with the next request, more as well as less", async () => {
  await make("HELPDESK", "org", "group.read")
  await give("owner", "nobody", onOrg("org1"), "HELPDESK")
  await act("manager", "createGroup", { organizationId: "org1", id: "g1", name: "One" })
  const permissions = ["group.write", "org.read"]
  await act("owner", "updateRole", { key: "HELPDESK", permissions })
  await act("nobody", "updateGroup", { id: "g1", name: "Two" })
  await expect(act("nobody", "getGroup", { id: "g1" })).rejects.toMatchObject({
    code: "permission_denied",
  })
  estate.clock.advance(1000)
  const { changeDate } = await act("owner", "updateRole", { key: "HELPDESK", displayName: "Help" })
  expect(timestampMs(changeDate)).toBe(estate.clock.now())
  expect(await found("HELPDESK")).toMatchObject({
    displayName: "Help",
    permissions,
    builtIn: false,
    changeDate,
  })
})

test("what changes nothing keeps its date", async () => {
  const { creationDate } = await make("HELPDESK", "org", "user.read", "group.read")
  estate.clock.advance(1000)
  const same = {
    key: "HELPDESK",
    displayName: "HELPDESK!",
    permissions: ["group.read", "user.read"],
  }
  expect((await act("owner", "updateRole", same)).changeDate).toEqual(creationDate)
  expect(estate.store.receipt(estate.cx(), customRoles, "i1")?.version).toBe(1)
})

describe("nobody gives what they lack:", () => {
  test("an organisation's owner a role that permits more than theirs", async () => {
    await make("IMPERSONATOR", "org", "user.read", "impersonation")
    await make("READER", "org", "user.read")
    const tried = give("manager", "nobody", onOrg("org1"), "IMPERSONATOR")
    await expect(tried).rejects.toMatchObject({ id: "member.role_too_high" })
    await give("manager", "nobody", onOrg("org1"), "READER")
    await expect(
      act("manager", "updateAdministrator", {
        userId: "nobody",
        resource: onOrg("org1"),
        roles: ["READER", "IMPERSONATOR"],
      }),
    ).rejects.toMatchObject({ id: "member.role_too_high" })
  })

  test("somebody who may make roles one that permits more than theirs", async () => {
    await make("ROLE_MAKER", "instance", "iam.write", "user.read", "iam.member.read")
    await give("owner", "nobody", onInstance, "ROLE_MAKER")
    const narrow = { key: "READER", level: level.org, permissions: ["user.read"] }
    await act("nobody", "createRole", narrow)
    const wide = { key: "DELETER", level: level.org, permissions: ["user.delete"] }
    const denied = { id: "member.role_too_high" }
    await expect(act("nobody", "createRole", wide)).rejects.toMatchObject(denied)
    const own = { key: "ROLE_MAKER", permissions: ["iam.write", "user.read", "user.delete"] }
    await expect(act("nobody", "updateRole", own)).rejects.toMatchObject(denied)
    const less = { key: "ROLE_MAKER", permissions: ["iam.write"] }
    await act("nobody", "updateRole", less)
    await expect(act("nobody", "updateRole", { ...own })).rejects.toMatchObject(denied)
  })

  test("a role that grew since counts in full where somebody acts on its holder", async () => {
    await make("STRONG", "org", "user.read")
    await give("owner", "nobody", onOrg("org1"), "STRONG")
    const strong = () => outranks(estate.cx({ caller: callerOf("manager") }), "nobody", "home")
    expect(strong()).toBe(true)
    await act("owner", "updateRole", { key: "STRONG", permissions: ["admin.impersonation"] })
    expect(strong()).toBe(false)
  })
})

test("a role is held on its level only, like any other", async () => {
  await make("READER", "org", "user.read")
  for (const resource of [onInstance, { resource: { case: "projectId", value: "own" } }]) {
    const tried = give("owner", "nobody", resource, "READER")
    await expect(tried).rejects.toMatchObject({ id: "member.role_unknown" })
  }
  await give("owner", "nobody", onOrg("org1"), "READER", "ORG_USER_MANAGER")
})

test("a role in use stays; once nobody holds it, it goes and can be made anew", async () => {
  await make("READER", "org", "user.read")
  await give("owner", "nobody", onOrg("org1"), "ORG_USER_MANAGER", "READER")
  const remove = () => act("owner", "deleteRole", { key: "READER" })
  await expect(remove()).rejects.toMatchObject({ id: "role.in_use" })
  const seat = { userId: "nobody", resource: onOrg("org1") }
  await act("owner", "updateAdministrator", { ...seat, roles: ["ORG_USER_MANAGER"] })
  estate.clock.advance(1000)
  expect(timestampMs((await remove()).deletionDate)).toBe(estate.clock.now())
  expect((await remove()).deletionDate).toBeUndefined()
  await expect(give("owner", "stranger", onOrg("org1"), "READER")).rejects.toMatchObject({
    id: "member.role_unknown",
  })
  await make("READER", "project", "project.read")
})

test("of a role given and removed at the same moment nobody keeps a permission", async () => {
  await make("READER", "org", "group.read")
  await give("owner", "nobody", onOrg("org1"), "READER")
  await act("nobody", "listGroups", {})
  const removed = { type: "role.removed", data: { key: "READER" } }
  await estate.step((tx) => tx.append(customRoles, "i1", [removed]))
  await expect(act("nobody", "listGroups", {})).rejects.toMatchObject({
    code: "permission_denied",
  })
  // What somebody still holds must not come to life with another role of its key.
  await expect(make("READER", "org", "group.write")).rejects.toMatchObject({ id: "role.in_use" })
})

test.each([
  ["no key", { key: "" }],
  ["a key that lists would split", { key: "A|B" }],
  ["a key with spaces", { key: "A B" }],
  ["a key of a built-in role", { key: "ORG_OWNER" }],
  ["a key that only looks built-in", { key: "iam_owner2" }],
  ["no level", { level: 0 }],
  ["no permission", { permissions: [] }],
  ["a permission that nobody knows", { permissions: ["user.read", "user.fly"] }],
  ["a permission of another level", { permissions: ["iam.write"] }],
  ["a permission of systems", { level: level.instance, permissions: ["system.instance.write"] }],
])("%s is refused", async (_, more) => {
  const whole = { key: "READER", level: level.org, permissions: ["user.read"] }
  const tried = act("owner", "createRole", { ...whole, ...more })
  await expect(tried).rejects.toMatchObject({ code: "invalid_argument" })
})

test("keys that objects have anyway are keys like others", async () => {
  await expect(act("owner", "updateRole", { key: "constructor" })).rejects.toMatchObject({
    id: "role.missing",
  })
  await expect(give("owner", "nobody", onOrg("org1"), "constructor")).rejects.toMatchObject({
    id: "member.role_unknown",
  })
  await make("constructor", "org", "user.read")
  await give("owner", "nobody", onOrg("org1"), "constructor")
  expect(await found("toString")).toBeUndefined()
})

test("built-in roles stay as they are, and no key is used twice", async () => {
  for (const [name, more] of [
    ["updateRole", { displayName: "Mine" }],
    ["deleteRole", {}],
  ] as const) {
    const tried = act("owner", name, { key: "ORG_OWNER", ...more })
    await expect(tried).rejects.toMatchObject({ id: "role.built_in" })
  }
  await make("READER", "org", "user.read")
  await expect(make("READER", "org", "user.read")).rejects.toMatchObject({ id: "role.exists" })
})

test("an instance has a bounded number of them", async () => {
  for (let at = 0; at < 100; at++) await make(`R${at}`, "org", "user.read")
  await expect(make("LAST", "org", "user.read")).rejects.toMatchObject({ id: "role.too_many" })
})

test("only who owns the instance makes roles", async () => {
  const request = { key: "READER", level: level.org, permissions: ["user.read"] }
  for (const who of ["manager", "stranger", "nobody"] as const) {
    for (const name of ["createRole", "updateRole", "deleteRole"]) {
      await expect(act(who, name, request)).rejects.toMatchObject({ code: "permission_denied" })
    }
  }
})

test("a list shows the roles of the levels whose administrators one may see", async () => {
  await make("READER", "org", "user.read")
  await make("KEEPER", "instance", "iam.read")
  const keys = async (who: Person, request: object = {}): Promise<readonly string[]> =>
    (await listed(who, request)).roles.map(({ key }: { key: string }) => key)
  expect(await keys("owner")).toEqual(expect.arrayContaining(["READER", "KEEPER", "IAM_OWNER"]))
  expect(await keys("owner")).not.toContain("SYSTEM_OWNER")
  const seen = await keys("manager")
  expect(seen).toEqual(expect.arrayContaining(["READER", "ORG_OWNER", "PROJECT_GRANT_OWNER"]))
  expect(seen).not.toContain("KEEPER")
  expect(seen).not.toContain("IAM_OWNER")
  const { pagination } = await listed("manager", { level: level.org, pagination: { limit: 2 } })
  expect(pagination).toMatchObject({ totalResult: 11n, appliedLimit: 2n })
  expect(await keys("manager", { level: level.instance })).toEqual([])
  await expect(listed("nobody")).rejects.toMatchObject({ code: "permission_denied" })
})

test("the last owner stays the owner, whatever roles there are beside it", async () => {
  const { roles } = await listed("owner", { pagination: { limit: 1000 } })
  const all = roles.find(({ key }: { key: string }) => key === "IAM_OWNER").permissions
  await make("ALMOST", "instance", ...all)
  await give("owner", "nobody", onInstance, "ALMOST")
  const seat = { userId: "owner", resource: onInstance }
  for (const [name, more] of [
    ["updateAdministrator", { roles: ["ALMOST"] }],
    ["deleteAdministrator", {}],
  ] as const) {
    for (const who of ["owner", "nobody"] as const) {
      const tried = act(who, name, { ...seat, ...more })
      await expect(tried).rejects.toMatchObject({ id: "instance.last_owner" })
    }
  }
})
