import { afterEach, beforeEach, expect, test } from "vitest"
import { createOrganization } from "../../../src/domain/org/commands.ts"
import { addDomain, org, removeOrganization } from "../../../src/domain/org/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { updateUser } from "../../../src/domain/user/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { accountOf } from "../../../src/domain/user-lookup/query.ts"
import { type Estate, openEstate, person } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const named = (userName: string, orgId: string) => ({ ...person("anna", orgId), userName })

const addTo = (orgId: string, domain: string) =>
  addDomain(estate.cx(), orgId, { domain, isUsed: () => false })

/** Has it found by its proof, as it is found in the end. */
const proven = (orgId: string, domain: string) =>
  estate.step((tx) =>
    tx.append(org, orgId, [{ type: "org.domain.verified", data: { domain, isGenerated: true } }]),
  )

test("whoever has a user name signs in with each domain of their organisation", async () => {
  const cx = estate.cx()
  await addTo("org1", "example.org")
  await addTo("org1", "example.net")
  for (const name of [
    "nobody",
    "nobody@example.org",
    "NOBODY@Example.NET ",
    "nobody@acme.id.example.com",
    // What they have shown to be their address.
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

test("where a user name must have a domain, it is no login name without one", async () => {
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

test("a name at a known domain that is nobody's is unknown, whoever has it elsewhere", () => {
  const cx = estate.cx()
  const unknown = accountOf(cx, "stranger@acme.id.example.com")
  expect(unknown).toMatch(/^nobody:/)
  expect(unknown).not.toBe(accountOf(cx, "absent@acme.id.example.com"))
  expect(accountOf(cx, "stranger@globex.id.example.com")).toBe("stranger")
})

test("an address as user name is a name of its own until its domain is somebody's", async () => {
  const cx = estate.cx()
  await createUser(cx, "u1", named("anna@example.org", "org1"))
  await createUser(cx, "u2", named("anna", "org2"))
  expect(findByLoginName(cx, "anna@example.org")).toBe("u1")
  // Added without asking who uses it: as when two things happen at the same moment.
  await addTo("org2", "example.org")
  expect(findByLoginName(cx, "anna@example.org")).toBe("u1")
  await proven("org2", "example.org")
  expect(findByLoginName(cx, "anna@example.org")).toBe("u2")
  expect(findByLoginName(cx, "anna")).toBe("u2")
})

test("of two names that meet in one organisation the longer one counts", async () => {
  const cx = estate.cx()
  await createUser(cx, "u1", named("anna@example.org", "org1"))
  await createUser(cx, "u2", named("anna", "org1"))
  await addTo("org1", "example.org")
  expect(findByLoginName(cx, "anna@example.org")).toBe("u1")
  expect(findByLoginName(cx, "anna@acme.id.example.com")).toBe("u2")
})

test("a domain that is held on trust keeps no name from others that nobody there has", async () => {
  const cx = estate.cx()
  await addTo("org1", "example.org")
  await createUser(cx, "u1", named("eve@example.org", "org2"))
  expect(findByLoginName(cx, "eve@example.org")).toBe("u1")
  const taken = { id: "user.name_taken" }
  const there = createUser(cx, "u2", named("nobody@example.org", "org2"))
  await expect(there).rejects.toMatchObject(taken)
  expect(findByLoginName(cx, "nobody@example.org")).toBe("nobody")
  // The other way round, too: no name stands for two.
  await expect(createUser(cx, "u2", named("eve", "org1"))).rejects.toMatchObject(taken)
})

test("nobody takes a name that the owner of its domain could give", async () => {
  const cx = estate.cx()
  await addTo("org1", "example.org")
  await proven("org1", "example.org")
  const elsewhere = { id: "user.name_of_other_org" }
  const made = createUser(cx, "u1", named("Eve@EXAMPLE.org", "org2"))
  await expect(made).rejects.toMatchObject(elsewhere)
  const taken = createUser(cx, "u1", named("nobody@example.org", "org2"))
  await expect(taken).rejects.toMatchObject({ id: "user.name_taken" })
  const renamed = updateUser(cx, "stranger", { userName: "eve@example.org" })
  await expect(renamed).rejects.toMatchObject(elsewhere)
  await createUser(cx, "u1", named("eve@example.org", "org1"))
})

test("lists find users by every form of their name, and by no other", async () => {
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

test("users of an organisation that is gone are nobody at once", async () => {
  const cx = estate.cx()
  await removeOrganization(cx, "org2")
  expect(findByLoginName(cx, "stranger")).toBeUndefined()
  expect(findByLoginName(cx, "stranger@globex.id.example.com")).toBeUndefined()
  expect(() => estate.as("owner", "getUserByID", { userId: "stranger" })).toThrow("no such user")
  const made = createUser(cx, "u1", named("anna", "org2"))
  await expect(made).rejects.toMatchObject({ id: "org.missing" })
})
