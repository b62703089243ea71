import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { setPublicUrl } from "../../../src/domain/instance/index.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { createOrganization } from "../../../src/domain/org/commands.ts"
import { findOrg } from "../../../src/domain/org/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { type Estate, openEstate } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const domainOf = async (id: string, name: string) => {
  await createOrganization(estate.cx(), id, { name })
  return findOrg(estate.cx(), id).domain
}

test("the domain of an organisation is made from its name", async () => {
  expect(await domainOf("a", "Müller & Söhne")).toBe("muller-sohne.id.example.com")
  expect(await domainOf("b", "  ---  x")).toBe("x.id.example.com")
  expect(await domainOf("c", "日本")).toBe("c.id.example.com")
})

test("organisations may share a name but not a domain", async () => {
  expect(await domainOf("o3", "ACME")).toBe("acme-o3.id.example.com")
})

test("a domain stays when the name or the address changes, for login names end in it", async () => {
  await estate.as("manager", "updateOrganization", { organizationId: "org1", name: "Ajax" })
  await setPublicUrl(estate.cx(), "i1", "https://new.example.com")
  expect(findOrg(estate.cx(), "org1")).toMatchObject({
    name: "Ajax",
    domain: "acme.id.example.com",
  })
})

test("an id is used once, and names are 1 to 200 characters", async () => {
  await expect(domainOf("org1", "Twice")).rejects.toMatchObject({ code: "already_exists" })
  for (const name of ["", "   ", "x".repeat(201), "a\u0000b"]) {
    await expect(domainOf("o9", name)).rejects.toMatchObject({ code: "invalid_argument" })
  }
})

test("a change that changes nothing succeeds with the old date", async () => {
  const before = findOrg(estate.cx(), "org1").changed
  estate.clock.advance(5000)
  const request = { organizationId: "org1", name: " Acme " }
  const { changeDate } = await estate.as("manager", "updateOrganization", request)
  expect(timestampMs(changeDate)).toBe(before)
})

test("the default organisation and the home of the last owner can't be stopped", async () => {
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

test("an organisation is stopped and started, each as often as one likes", async () => {
  const organizationId = "org2"
  for (const name of ["deactivateOrganization", "deactivateOrganization"]) {
    await estate.as("owner", name, { organizationId })
    expect(findOrg(estate.cx(), "org2").state).toBe("inactive")
  }
  // Who may write the organisation, but less than who has stopped it, doesn't start it again.
  expect(() => estate.as("stranger", "activateOrganization", { organizationId })).toThrow(
    "may do more than you",
  )
  await estate.as("owner", "activateOrganization", { organizationId })
  expect(findOrg(estate.cx(), "org2").state).toBe("active")
})

test("a manager sees their own organisation only, and totals do not tell of others", async () => {
  const seen = async (who: "owner" | "manager") => {
    const { result, details } = await estate.as(who, "listOrganizations", { query: { asc: true } })
    return { ids: result.map(({ id }: { id: string }) => id), total: details.totalResult }
  }
  expect(await seen("owner")).toEqual({ ids: ["org1", "org2"], total: 2n })
  expect(await seen("manager")).toEqual({ ids: ["org1"], total: 1n })
  expect(() => estate.as("nobody", "listOrganizations")).toThrow("org.read")
})

test("somebody else's organisation answers like one that is not there", async () => {
  const tried = (organizationId: string) => () =>
    estate.as("manager", "updateOrganization", { organizationId, name: "Mine" })
  expect(tried("org2")).toThrow("there is no such organisation")
  expect(tried("absent")).toThrow("there is no such organisation")
})

test("organisations are found by name, domain, state, id and as the default", async () => {
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

test("v1 shows the organisation of the context", async () => {
  expect((await estate.as("manager", "getMyOrg")).org.id).toBe("org1")
  expect((await estate.as("owner", "getMyOrg", {}, { cx: { orgId: "org2" } })).org.id).toBe("org2")
  expect(() => estate.as("manager", "getMyOrg", {}, { cx: { orgId: "org2" } })).toThrow("no such")
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

test("an organisation begins with its administrators, old and new, in one step", async () => {
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

test("when one administrator can't be made, nothing is", async () => {
  const tried = estate.as("owner", "addOrganization", {
    name: "Initech",
    organizationId: "org3",
    admins: [newAdmin("peter"), { userType: { case: "userId", value: "absent" } }],
  })
  await expect(tried).rejects.toMatchObject({ id: "user.missing" })
  expect(findByLoginName(estate.cx(), "peter")).toBeUndefined()
  expect(() => findOrg(estate.cx(), "org3")).toThrow("no such organisation")
})

test("a new administrator can't be put into another organisation", async () => {
  const admin = newAdmin("peter")
  const value = { ...admin.userType.value, organization: { org: { case: "orgId", value: "org2" } } }
  const tried = estate.as("owner", "addOrganization", {
    name: "Initech",
    admins: [{ userType: { case: "human", value } }],
  })
  await expect(tried).rejects.toMatchObject({ id: "org.admin_elsewhere" })
})

test("who only manages an organisation makes none", () => {
  expect(() => estate.as("manager", "addOrganization", { name: "Mine" })).toThrow("org.create")
})

test("two instances with equal ids do not see each other", async () => {
  const two = await openEstate(["i1", "i2"])
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
