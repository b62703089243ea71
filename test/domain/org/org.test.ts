import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { setPublicUrl } from "../../../src/domain/instance/index.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { createOrganization } from "../../../src/domain/org/commands.ts"
import { findOrg } from "../../../src/domain/org/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const domainOf = async (id: string, name: string) => {
  await createOrganization(estate.cx(), id, { name })
  return findOrg(estate.cx(), id).domain
}

test("the domain of an organization is made from its name", async () => {
  expect(await domainOf("a", "Müller & Söhne")).toBe("muller-sohne.id.example.com")
  expect(await domainOf("b", "  ---  x")).toBe("x.id.example.com")
  expect(await domainOf("c", "日本")).toBe("c.id.example.com")
})

test("organizations can share a name but not a domain", async () => {
  expect(await domainOf("o3", "ACME")).toBe("acme-o3.id.example.com")
})

test("the domain stays when the name or host changes, because login names end in it", async () => {
  await estate.as("manager", "updateOrganization", { organizationId: "org1", name: "Ajax" })
  await setPublicUrl(estate.cx(), "i1", "https://new.example.com")
  expect(findOrg(estate.cx(), "org1")).toMatchObject({
    name: "Ajax",
    domain: "acme.id.example.com",
  })
})

test("an ID is used once, and names have 1 to 200 characters", async () => {
  await expect(domainOf("org1", "Twice")).rejects.toMatchObject({ code: "already_exists" })
  for (const name of ["", "   ", "x".repeat(201), "a\u0000b"]) {
    await expect(domainOf("o9", name)).rejects.toMatchObject({ code: "invalid_argument" })
  }
})

test("an update without changes succeeds with the old date", async () => {
  const before = findOrg(estate.cx(), "org1").changed
  estate.clock.advance(5000)
  const request = { organizationId: "org1", name: " Acme " }
  const { changeDate } = await estate.as("manager", "updateOrganization", request)
  expect(timestampMs(changeDate)).toBe(before)
})

test("the default organization and the last owner's can't be deactivated", async () => {
  const stop = (organizationId: string) =>
    estate.as("owner", "deactivateOrganization", { organizationId })
  await expect(stop("org1")).rejects.toMatchObject({ id: "org.is_default" })

  await estate.as("owner", "createAdministrator", {
    userId: "stranger",
    roles: ["IAM_OWNER"],
    resource: { resource: { case: "instance", value: true } },
  })
  await estate.as("owner", "deleteAdministrator", {
    userId: "owner",
    resource: { resource: { case: "instance", value: true } },
  })
  const last = estate.as("stranger", "deactivateOrganization", { organizationId: "org2" })
  await expect(last).rejects.toMatchObject({ id: "instance.last_owner" })
})

test("an organization is stopped and started, each as often as one likes", async () => {
  const organizationId = "org2"
  for (const name of ["deactivateOrganization", "deactivateOrganization"]) {
    await estate.as("owner", name, { organizationId })
    expect(findOrg(estate.cx(), "org2").state).toBe("inactive")
  }
  // A caller who can write the organization but ranks below the one who deactivated it can't
  // activate it.
  expect(() => estate.as("stranger", "activateOrganization", { organizationId })).toThrow(
    "has permissions that you lack",
  )
  await estate.as("owner", "activateOrganization", { organizationId })
  expect(findOrg(estate.cx(), "org2").state).toBe("active")
})

test("a manager sees only their own organization, and totals exclude others", async () => {
  const seen = async (userName: "owner" | "manager") => {
    const { result, details } = await estate.as(userName, "listOrganizations", {
      query: { asc: true },
    })
    return { ids: result.map(({ id }: { id: string }) => id), total: details.totalResult }
  }
  expect(await seen("owner")).toEqual({ ids: ["org1", "org2"], total: 2n })
  expect(await seen("manager")).toEqual({ ids: ["org1"], total: 1n })
  expect(() => estate.as("nobody", "listOrganizations")).toThrow("org.read")
})

test("an inaccessible organization is not found", async () => {
  const tried = (organizationId: string) => () =>
    estate.as("manager", "updateOrganization", { organizationId, name: "Mine" })
  expect(tried("org2")).toThrow("organization not found")
  expect(tried("absent")).toThrow("organization not found")
})

test("finds organizations by name, domain, state, ID, and the default flag", async () => {
  const ids = async (kind: string, value: object) => {
    const queries = [{ query: { case: kind, value } }]
    const { result } = await estate.as("owner", "listOrganizations", { queries })
    return result.map(({ id }: { id: string }) => id)
  }
  await estate.as("owner", "deactivateOrganization", { organizationId: "org2" })
  expect(await ids("nameQuery", { name: "ACME", method: 1 })).toEqual(["org1"])
  expect(await ids("nameQuery", { name: "ACME", method: 0 })).toEqual([])
  expect(await ids("domainQuery", { domain: "globex.", method: 2 })).toEqual(["org2"])
  expect(await ids("stateQuery", { state: 2 })).toEqual(["org2"])
  expect(await ids("idQuery", { id: "org1" })).toEqual(["org1"])
  expect(await ids("defaultQuery", {})).toEqual(["org1"])
})

test("v1 returns the organization of the context", async () => {
  expect((await estate.as("manager", "getMyOrg")).org.id).toBe("org1")
  expect((await estate.as("owner", "getMyOrg", {}, { cx: { orgId: "org2" } })).org.id).toBe("org2")
  expect(() => estate.as("manager", "getMyOrg", {}, { cx: { orgId: "org2" } })).toThrow(
    "organization not found",
  )
})

const newAdmin = (name: string) => ({
  userType: {
    case: "human",
    value: {
      userId: name,
      username: name,
      profile: { givenName: name, familyName: "New" },
      email: { email: `${name}@new.example.com`, verification: { case: "returnCode", value: {} } },
    },
  },
})

test("an organization begins with its administrators, old and new, in one step", async () => {
  const { createdAdmins } = await estate.as("owner", "addOrganization", {
    name: "Initech",
    organizationId: "org3",
    admins: [newAdmin("peter"), { userType: { case: "userId", value: "nobody" }, roles: [] }],
  })
  expect(createdAdmins).toMatchObject([{ userId: "peter", emailCode: expect.stringMatching(/./) }])
  expect(findByLoginName(estate.cx(), "peter@initech.id.example.com")).toBe("peter")
  const { result } = await estate.as("nobody", "listOrganizations")
  expect(result.map(({ id }: { id: string }) => id)).toEqual(["org3"])
})

test("if one administrator can't be created, nothing is", async () => {
  const tried = estate.as("owner", "addOrganization", {
    name: "Initech",
    organizationId: "org3",
    admins: [newAdmin("peter"), { userType: { case: "userId", value: "absent" } }],
  })
  await expect(tried).rejects.toMatchObject({ id: "user.missing" })
  expect(findByLoginName(estate.cx(), "peter")).toBeUndefined()
  expect(() => findOrg(estate.cx(), "org3")).toThrow("organization not found")
})

test("a new administrator can't be created in another organization", async () => {
  const admin = newAdmin("peter")
  const value = { ...admin.userType.value, organization: { org: { case: "orgId", value: "org2" } } }
  const tried = estate.as("owner", "addOrganization", {
    name: "Initech",
    admins: [{ userType: { case: "human", value } }],
  })
  await expect(tried).rejects.toMatchObject({ id: "org.admin_elsewhere" })
})

test("who only manages an organization makes none", () => {
  expect(() => estate.as("manager", "addOrganization", { name: "Mine" })).toThrow("org.create")
})

test("two instances with equal IDs are separate", async () => {
  const two = await openTenant(["i1", "i2"])
  const request = { organizationId: "org1", name: "Other" }
  await two.as("manager", "updateOrganization", request, { cx: { instance: "i2" } })
  expect(findOrg(two.cx(), "org1").name).toBe("Acme")
  expect(findOrg(two.cx({ instance: "i2" }), "org1").name).toBe("Other")
  await two.step((tx) =>
    addMember(tx, { userId: "nobody", target: { level: "org", id: "org1" }, roles: ["ORG_OWNER"] }),
  )
  const elsewhere = { cx: { instance: "i2" } }
  expect(() => two.as("nobody", "listOrganizations", {}, elsewhere)).toThrow("org.read")
  await two.close()
})
