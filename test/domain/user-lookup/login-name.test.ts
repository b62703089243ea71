import { afterEach, beforeEach, expect, test } from "vitest"
import { createOrganization } from "../../../src/domain/org/commands.ts"
import { addDomain, org, removeOrganization } from "../../../src/domain/org/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { updateUser } from "../../../src/domain/user/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { accountOf } from "../../../src/domain/user-lookup/query.ts"
import { humanInput, openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const userNamed = (userName: string, orgId: string) => ({ ...humanInput("anna", orgId), userName })

const addTo = (orgId: string, domain: string) =>
  addDomain(estate.cx(), orgId, { domain, isUsed: () => false })

/** Stores the domain as verified. */
const verifyDomain = (orgId: string, domain: string) =>
  estate.step((tx) =>
    tx.append(org, orgId, [{ type: "org.domain.verified", data: { domain, isGenerated: true } }]),
  )

test("whoever has a user name signs in with each domain of the organization", async () => {
  const cx = estate.cx()
  await addTo("org1", "example.org")
  await addTo("org1", "example.net")
  for (const name of [
    "nobody",
    "nobody@example.org",
    "NOBODY@Example.NET ",
    "nobody@acme.id.example.com",
    // The user's verified address.
    "nobody@example.com",
  ]) {
    expect(findByLoginName(cx, name), name).toBe("nobody")
  }
  for (const name of [
    "nobody@globex.id.example.com",
    "nobody@example.info",
    "nobody@",
    "@example.org",
    "nobody@@example.org",
    "nobody@x@example.org",
    "stranger@example.org",
    "example.org",
    "",
  ]) {
    expect(findByLoginName(cx, name), name).toBeUndefined()
  }
})

test("a user name without the required domain is not a login name", async () => {
  const cx = estate.cx()
  const said = { orgId: "org1", userLoginMustBeDomain: true }
  await estate.as("owner", "addCustomDomainPolicy", said)
  expect(findByLoginName(cx, "nobody")).toBeUndefined()
  expect(findByLoginName(cx, "nobody@acme.id.example.com")).toBe("nobody")
  expect(findByLoginName(cx, "stranger")).toBe("stranger")
  const { user } = await estate.as("owner", "getUserByID", { userId: "nobody" })
  expect(user).toMatchObject({
    preferredLoginName: "nobody@acme.id.example.com",
    loginNames: ["nobody@acme.id.example.com"],
  })
  await estate.as("owner", "resetCustomDomainPolicyToDefault", { orgId: "org1" })
  expect(findByLoginName(cx, "nobody")).toBe("nobody")
})

test("a name at a known domain is unknown unless a user there has it", () => {
  const cx = estate.cx()
  const unknown = accountOf(cx, "stranger@acme.id.example.com")
  expect(unknown).toMatch(/^nobody:/)
  expect(unknown).not.toBe(accountOf(cx, "absent@acme.id.example.com"))
  expect(accountOf(cx, "stranger@globex.id.example.com")).toBe("stranger")
})

test("an email as user name is a separate name until an organization has its domain", async () => {
  const cx = estate.cx()
  await createUser(cx, "u1", userNamed("anna@example.org", "org1"))
  await createUser(cx, "u2", userNamed("anna", "org2"))
  expect(findByLoginName(cx, "anna@example.org")).toBe("u1")
  // Added without checking its use, as in a race.
  await addTo("org2", "example.org")
  expect(findByLoginName(cx, "anna@example.org")).toBe("u1")
  await verifyDomain("org2", "example.org")
  expect(findByLoginName(cx, "anna@example.org")).toBe("u2")
  expect(findByLoginName(cx, "anna")).toBe("u2")
})

test("of two colliding names in one organization the longer one applies", async () => {
  const cx = estate.cx()
  await createUser(cx, "u1", userNamed("anna@example.org", "org1"))
  await createUser(cx, "u2", userNamed("anna", "org1"))
  await addTo("org1", "example.org")
  expect(findByLoginName(cx, "anna@example.org")).toBe("u1")
  expect(findByLoginName(cx, "anna@acme.id.example.com")).toBe("u2")
})

test("a trusted domain reserves only names that its users have", async () => {
  const cx = estate.cx()
  await addTo("org1", "example.org")
  await createUser(cx, "u1", userNamed("eve@example.org", "org2"))
  expect(findByLoginName(cx, "eve@example.org")).toBe("u1")
  const taken = { id: "user.name_taken" }
  const there = createUser(cx, "u2", userNamed("nobody@example.org", "org2"))
  await expect(there).rejects.toMatchObject(taken)
  expect(findByLoginName(cx, "nobody@example.org")).toBe("nobody")
  // In the other order, too: a name never identifies two users.
  await expect(createUser(cx, "u2", userNamed("eve", "org1"))).rejects.toMatchObject(taken)
})

test("rejects a name that the owner of its domain could assign", async () => {
  const cx = estate.cx()
  await addTo("org1", "example.org")
  await verifyDomain("org1", "example.org")
  const elsewhere = { id: "user.name_of_other_org" }
  const made = createUser(cx, "u1", userNamed("Eve@EXAMPLE.org", "org2"))
  await expect(made).rejects.toMatchObject(elsewhere)
  const taken = createUser(cx, "u1", userNamed("nobody@example.org", "org2"))
  await expect(taken).rejects.toMatchObject({ id: "user.name_taken" })
  const renamed = updateUser(cx, "stranger", { userName: "eve@example.org" })
  await expect(renamed).rejects.toMatchObject(elsewhere)
  await createUser(cx, "u1", userNamed("eve@example.org", "org1"))
})

test("lists find users by every form of their name only", async () => {
  await addTo("org1", "example.org")
  await createOrganization(estate.cx(), "org3", { name: "Initech" })
  const found = async (loginName: string, method: number) => {
    const queries = [{ query: { case: "loginNameQuery", value: { loginName, method } } }]
    const { result } = await estate.as("owner", "listUsers", { queries, query: { asc: true } })
    return result.map(({ userId }: { userId: string }) => userId).toSorted()
  }
  const inOrg1 = ["manager", "nobody", "owner"]
  expect(await found("Nobody@example.org", 0)).toEqual(["nobody"])
  expect(await found("nobody", 0)).toEqual(["nobody"])
  expect(await found("nobody@globex.id.example.com", 0)).toEqual([])
  expect(await found("manager@ex", 2)).toEqual(["manager"])
  expect(await found("manager@", 2)).toEqual(["manager"])
  expect(await found("man", 2)).toEqual(["manager"])
  expect(await found("ager@example.org", 6)).toEqual(["manager"])
  expect(await found("example.org", 6)).toEqual(inOrg1)
  expect(await found("@EXAMPLE.ORG", 7)).toEqual(inOrg1)
  expect(await found("r@ex", 4)).toEqual(["manager", "owner"])
  expect(await found("globex", 4)).toEqual(["stranger"])
  expect(await found("@", 4)).toEqual([...inOrg1, "stranger"])
  expect(await found("initech", 4)).toEqual([])
})

test("users of an organization that is gone are nobody at once", async () => {
  const cx = estate.cx()
  await removeOrganization(cx, "org2")
  expect(findByLoginName(cx, "stranger")).toBeUndefined()
  expect(findByLoginName(cx, "stranger@globex.id.example.com")).toBeUndefined()
  expect(() => estate.as("owner", "getUserByID", { userId: "stranger" })).toThrow("user not found")
  const made = createUser(cx, "u1", userNamed("anna", "org2"))
  await expect(made).rejects.toMatchObject({ id: "org.missing" })
})
