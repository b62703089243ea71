import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { customRoles } from "../../../src/domain/member/custom-role.ts"
import { outranks } from "../../../src/domain/member/index.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"
import { callerOf } from "../../support/test-environment.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const level = { instance: 1, org: 2, project: 3, grant: 4 } as const
const onInstance = { resource: { case: "instance", value: true } }
const onOrg = (value: string) => ({ resource: { case: "organizationId", value } })

const callAs = async (user: TenantUser, name: string, request: object) =>
  estate.as(user, name, request)
const createRole = (key: string, on: keyof typeof level, ...permissions: string[]) =>
  callAs("owner", "createRole", { key, displayName: `${key}!`, level: level[on], permissions })
const grantRoles = (user: TenantUser, userId: string, resource: object, ...roles: string[]) =>
  callAs(user, "createAdministrator", { userId, resource, roles })
const listRoles = async (user: TenantUser, request: object = {}) =>
  callAs(user, "listRoles", request)
const findRole = async (key: string) =>
  (await listRoles("owner")).roles.find((role: { key: string }) => role.key === key)

test("a role grants its permissions at its level only", async () => {
  await expect(callAs("nobody", "listGroups", {})).rejects.toMatchObject({
    code: "permission_denied",
  })
  await createRole("HELPDESK", "org", "user.read", "group.read")
  await grantRoles("owner", "nobody", onOrg("org1"), "HELPDESK")
  await callAs("manager", "createGroup", { organizationId: "org1", id: "g1", name: "One" })
  await callAs("stranger", "createGroup", { organizationId: "org2", id: "g2", name: "Two" })
  expect((await callAs("nobody", "listGroups", {})).pagination.totalResult).toBe(1n)
  await expect(callAs("nobody", "getGroup", { id: "g2" })).rejects.toMatchObject({
    code: "not_found",
  })
  await expect(callAs("nobody", "deleteGroup", { id: "g1" })).rejects.toMatchObject({
    code: "permission_denied",
  })
})

test("a change takes effect with the next request, in both directions", async () => {
  await createRole("HELPDESK", "org", "group.read")
  await grantRoles("owner", "nobody", onOrg("org1"), "HELPDESK")
  await callAs("manager", "createGroup", { organizationId: "org1", id: "g1", name: "One" })
  const permissions = ["group.write", "org.read"]
  await callAs("owner", "updateRole", { key: "HELPDESK", permissions })
  await callAs("nobody", "updateGroup", { id: "g1", name: "Two" })
  await expect(callAs("nobody", "getGroup", { id: "g1" })).rejects.toMatchObject({
    code: "permission_denied",
  })
  estate.clock.advance(1000)
  const { changeDate } = await callAs("owner", "updateRole", {
    key: "HELPDESK",
    displayName: "Help",
  })
  expect(timestampMs(changeDate)).toBe(estate.clock.now())
  expect(await findRole("HELPDESK")).toMatchObject({
    displayName: "Help",
    permissions,
    builtIn: false,
    changeDate,
  })
})

test("an update without changes keeps the date", async () => {
  const { creationDate } = await createRole("HELPDESK", "org", "user.read", "group.read")
  estate.clock.advance(1000)
  const same = {
    key: "HELPDESK",
    displayName: "HELPDESK!",
    permissions: ["group.read", "user.read"],
  }
  expect((await callAs("owner", "updateRole", same)).changeDate).toEqual(creationDate)
  expect(estate.store.receipt(estate.cx(), customRoles, "i1")?.version).toBe(1)
})

describe("nobody grants permissions that they lack:", () => {
  test("an organization's owner a role that permits more than theirs", async () => {
    await createRole("IMPERSONATOR", "org", "user.read", "impersonation")
    await createRole("READER", "org", "user.read")
    const tried = grantRoles("manager", "nobody", onOrg("org1"), "IMPERSONATOR")
    await expect(tried).rejects.toMatchObject({ id: "member.role_too_high" })
    await grantRoles("manager", "nobody", onOrg("org1"), "READER")
    await expect(
      callAs("manager", "updateAdministrator", {
        userId: "nobody",
        resource: onOrg("org1"),
        roles: ["READER", "IMPERSONATOR"],
      }),
    ).rejects.toMatchObject({ id: "member.role_too_high" })
  })

  test("a user who can create roles one with more permissions than their own", async () => {
    await createRole("ROLE_MAKER", "instance", "iam.write", "user.read", "iam.member.read")
    await grantRoles("owner", "nobody", onInstance, "ROLE_MAKER")
    const narrow = { key: "READER", level: level.org, permissions: ["user.read"] }
    await callAs("nobody", "createRole", narrow)
    const wide = { key: "DELETER", level: level.org, permissions: ["user.delete"] }
    const denied = { id: "member.role_too_high" }
    await expect(callAs("nobody", "createRole", wide)).rejects.toMatchObject(denied)
    const own = { key: "ROLE_MAKER", permissions: ["iam.write", "user.read", "user.delete"] }
    await expect(callAs("nobody", "updateRole", own)).rejects.toMatchObject(denied)
    const less = { key: "ROLE_MAKER", permissions: ["iam.write"] }
    await callAs("nobody", "updateRole", less)
    await expect(callAs("nobody", "updateRole", { ...own })).rejects.toMatchObject(denied)
  })

  test("a role that was extended counts in full when others act on its holder", async () => {
    await createRole("STRONG", "org", "user.read")
    await grantRoles("owner", "nobody", onOrg("org1"), "STRONG")
    const strong = () => outranks(estate.cx({ caller: callerOf("manager") }), "nobody", "home")
    expect(strong()).toBe(true)
    await callAs("owner", "updateRole", { key: "STRONG", permissions: ["admin.impersonation"] })
    expect(strong()).toBe(false)
  })
})

test("a role can be granted on its level only", async () => {
  await createRole("READER", "org", "user.read")
  for (const resource of [onInstance, { resource: { case: "projectId", value: "own" } }]) {
    const tried = grantRoles("owner", "nobody", resource, "READER")
    await expect(tried).rejects.toMatchObject({ id: "member.role_unknown" })
  }
  await grantRoles("owner", "nobody", onOrg("org1"), "READER", "ORG_USER_MANAGER")
})

test("a role in use can't be deleted; afterwards it can be created again", async () => {
  await createRole("READER", "org", "user.read")
  await grantRoles("owner", "nobody", onOrg("org1"), "ORG_USER_MANAGER", "READER")
  const remove = () => callAs("owner", "deleteRole", { key: "READER" })
  await expect(remove()).rejects.toMatchObject({ id: "role.in_use" })
  const seat = { userId: "nobody", resource: onOrg("org1") }
  await callAs("owner", "updateAdministrator", { ...seat, roles: ["ORG_USER_MANAGER"] })
  estate.clock.advance(1000)
  expect(timestampMs((await remove()).deletionDate)).toBe(estate.clock.now())
  expect((await remove()).deletionDate).toBeUndefined()
  await expect(grantRoles("owner", "stranger", onOrg("org1"), "READER")).rejects.toMatchObject({
    id: "member.role_unknown",
  })
  await createRole("READER", "project", "project.read")
})

test("a role that is granted and deleted concurrently leaves no permission", async () => {
  await createRole("READER", "org", "group.read")
  await grantRoles("owner", "nobody", onOrg("org1"), "READER")
  await callAs("nobody", "listGroups", {})
  const removed = { type: "role.removed", data: { key: "READER" } }
  await estate.step((tx) => tx.append(customRoles, "i1", [removed]))
  await expect(callAs("nobody", "listGroups", {})).rejects.toMatchObject({
    code: "permission_denied",
  })
  // A remaining assignment must not become effective with another role of the same key.
  await expect(createRole("READER", "org", "group.write")).rejects.toMatchObject({
    id: "role.in_use",
  })
})

test.each([
  ["the browser created no key", { key: "" }],
  ["a key that lists would split", { key: "A|B" }],
  ["a key with spaces", { key: "A B" }],
  ["a key of a built-in role", { key: "ORG_OWNER" }],
  ["a key that only looks built-in", { key: "iam_owner2" }],
  ["no level", { level: 0 }],
  ["no permission", { permissions: [] }],
  ["a permission that nobody knows", { permissions: ["user.read", "user.fly"] }],
  ["a permission of another level", { permissions: ["iam.write"] }],
  ["a permission of systems", { level: level.instance, permissions: ["system.instance.write"] }],
])("rejects %s", async (_, more) => {
  const whole = { key: "READER", level: level.org, permissions: ["user.read"] }
  const tried = callAs("owner", "createRole", { ...whole, ...more })
  await expect(tried).rejects.toMatchObject({ code: "invalid_argument" })
})

test("keys named like Object.prototype members work like others", async () => {
  await expect(callAs("owner", "updateRole", { key: "constructor" })).rejects.toMatchObject({
    id: "role.missing",
  })
  await expect(grantRoles("owner", "nobody", onOrg("org1"), "constructor")).rejects.toMatchObject({
    id: "member.role_unknown",
  })
  await createRole("constructor", "org", "user.read")
  await grantRoles("owner", "nobody", onOrg("org1"), "constructor")
  expect(await findRole("toString")).toBeUndefined()
})

test("built-in roles no change, and no key is used twice", async () => {
  for (const [name, more] of [
    ["updateRole", { displayName: "Mine" }],
    ["deleteRole", {}],
  ] as const) {
    const tried = callAs("owner", name, { key: "ORG_OWNER", ...more })
    await expect(tried).rejects.toMatchObject({ id: "role.built_in" })
  }
  await createRole("READER", "org", "user.read")
  await expect(createRole("READER", "org", "user.read")).rejects.toMatchObject({
    id: "role.exists",
  })
})

test("an instance has a limited number of roles", async () => {
  for (let at = 0; at < 100; at++) await createRole(`R${at}`, "org", "user.read")
  await expect(createRole("LAST", "org", "user.read")).rejects.toMatchObject({
    id: "role.too_many",
  })
})

test("only instance owners create roles", async () => {
  const request = { key: "READER", level: level.org, permissions: ["user.read"] }
  for (const who of ["manager", "stranger", "nobody"] as const) {
    for (const name of ["createRole", "updateRole", "deleteRole"]) {
      await expect(callAs(who, name, request)).rejects.toMatchObject({ code: "permission_denied" })
    }
  }
})

test("a list contains the roles of levels whose administrators the caller can read", async () => {
  await createRole("READER", "org", "user.read")
  await createRole("KEEPER", "instance", "iam.read")
  const keys = async (user: TenantUser, request: object = {}): Promise<readonly string[]> =>
    (await listRoles(user, request)).roles.map(({ key }: { key: string }) => key)
  expect(await keys("owner")).toEqual(expect.arrayContaining(["READER", "KEEPER", "IAM_OWNER"]))
  expect(await keys("owner")).not.toContain("SYSTEM_OWNER")
  const seen = await keys("manager")
  expect(seen).toEqual(expect.arrayContaining(["READER", "ORG_OWNER", "PROJECT_GRANT_OWNER"]))
  expect(seen).not.toContain("KEEPER")
  expect(seen).not.toContain("IAM_OWNER")
  const { pagination } = await listRoles("manager", { level: level.org, pagination: { limit: 2 } })
  expect(pagination).toMatchObject({ totalResult: 11n, appliedLimit: 2n })
  expect(await keys("manager", { level: level.instance })).toEqual([])
  await expect(listRoles("nobody")).rejects.toMatchObject({ code: "permission_denied" })
})

test("the last owner stays the owner, whatever other roles exist", async () => {
  const { roles } = await listRoles("owner", { pagination: { limit: 1000 } })
  const all = roles.find(({ key }: { key: string }) => key === "IAM_OWNER").permissions
  await createRole("ALMOST", "instance", ...all)
  await grantRoles("owner", "nobody", onInstance, "ALMOST")
  const seat = { userId: "owner", resource: onInstance }
  for (const [name, more] of [
    ["updateAdministrator", { roles: ["ALMOST"] }],
    ["deleteAdministrator", {}],
  ] as const) {
    for (const who of ["owner", "nobody"] as const) {
      const tried = callAs(who, name, { ...seat, ...more })
      await expect(tried).rejects.toMatchObject({ id: "instance.last_owner" })
    }
  }
})
