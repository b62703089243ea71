import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  org,
  orgOfProvenDomain,
  orgWithDomain,
  provenDomainOf,
} from "../../../src/domain/org/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { orgRestriction } from "../../../src/oauth/token/scope.ts"
import { type Estate, openEstate, type Person } from "../../support/estate.ts"
import { nowhere } from "../../support/outside.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const ask = (name: string, domain: string, more: object = {}, who: Person = "manager") =>
  estate.as(who, name, { organizationId: "org1", domain, ...more })

const add = (domain: string, who: Person = "manager", organizationId = "org1") =>
  ask("addOrganizationDomain", domain, { organizationId }, who)

async function prove(domain: string, who: Person = "manager", organizationId = "org1") {
  const challenge = { organizationId, type: 2 }
  const { token } = await ask("generateOrganizationDomainValidation", domain, challenge, who)
  const cx = { outside: { ...nowhere, texts: async () => [token] } }
  return estate.as(who, "verifyOrganizationDomain", { organizationId, domain }, { cx })
}

const listed = async () =>
  (await estate.as("manager", "listOrganizationDomains", { organizationId: "org1" })).domains

describe("the primary domain", () => {
  test("may be one that was taken on trust, which stands for nobody outside", async () => {
    await add("example.org")
    await estate.as("manager", "setPrimaryOrgDomain", { domain: "example.org" })
    expect((await estate.as("manager", "getMyOrg")).org.primaryDomain).toBe("example.org")
    expect((await listed()).find(({ isPrimary }: any) => isPrimary)).toMatchObject({
      domain: "example.org",
      isVerified: false,
    })
    const { user } = await estate.as("manager", "getUserByID", { userId: "manager" })
    expect(user.loginNames).toContain("manager@example.org")
    const cx = estate.cx()
    expect(orgWithDomain(cx, "example.org")).toBeUndefined()
    expect(orgOfProvenDomain(cx, "example.org")).toBeUndefined()
    expect(provenDomainOf(estate.store.state(cx, org, "org1"))).toBe("acme.id.example.com")
    expect(orgRestriction(cx, ["urn:core:iam:org:domain:primary:example.org"])).toBe("")
    await add("example.org", "stranger", "org2")
    await prove("example.org", "stranger", "org2")
    expect((await estate.as("manager", "getMyOrg")).org.primaryDomain).toBe("acme.id.example.com")
    expect(orgRestriction(cx, ["urn:core:iam:org:domain:primary:acme.id.example.com"])).toBe("org1")
  })

  test("is any that is proven, and shows at once where it is asked for", async () => {
    await estate.as("owner", "addCustomDomainPolicy", { orgId: "org1", validateOrgDomains: true })
    await add("example.org")
    const unproven = estate.as("manager", "setPrimaryOrgDomain", { domain: "example.org" })
    await expect(unproven).rejects.toMatchObject({ id: "org.domain_unproven" })
    await prove("example.org")
    await estate.as("manager", "setPrimaryOrgDomain", { domain: "Example.org" })
    expect((await estate.as("manager", "getMyOrg")).org.primaryDomain).toBe("example.org")
    expect(orgWithDomain(estate.cx(), "example.org")).toBe("org1")
    expect(orgWithDomain(estate.cx(), "acme.id.example.com")).toBeUndefined()
    const { user } = await estate.as("manager", "getUserByID", { userId: "manager" })
    expect(user.loginNames).toEqual([
      "manager",
      "manager@example.org",
      "manager@acme.id.example.com",
    ])
    expect(user.preferredLoginName).toBe("manager")
    await ask("deleteOrganizationDomain", "acme.id.example.com")
    expect(findByLoginName(estate.cx(), "manager@acme.id.example.com")).toBeUndefined()
  })

  test("is refused where it is so already, or nobody's, or by who may not", async () => {
    const set = (who: Person, domain: string, orgId = "org1") =>
      estate.as(who, "setPrimaryOrgDomain", { domain }, { cx: { orgId } })
    await expect(set("manager", "acme.id.example.com")).rejects.toMatchObject({
      id: "org.unchanged",
    })
    await expect(set("manager", "globex.id.example.com")).rejects.toMatchObject({
      id: "org.domain_missing",
    })
    expect(() => set("nobody", "acme.id.example.com")).toThrow("org.write")
    expect(() => set("stranger", "acme.id.example.com")).toThrow("no such organisation")
  })
})
