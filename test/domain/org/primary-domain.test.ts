import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  findOrgByVerifiedDomain,
  org,
  orgWithDomain,
  provenDomainOf,
} from "../../../src/domain/org/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { orgRestriction } from "../../../src/oauth/token/scope.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const callDomain = (
  name: string,
  domain: string,
  more: object = {},
  user: TenantUser = "manager",
) => estate.as(user, name, { organizationId: "org1", domain, ...more })

const addDomainOf = (domain: string, user: TenantUser = "manager", organizationId = "org1") =>
  callDomain("addOrganizationDomain", domain, { organizationId }, user)

async function proveDomain(domain: string, user: TenantUser = "manager", organizationId = "org1") {
  const challenge = { organizationId, type: 2 }
  const { token } = await callDomain(
    "generateOrganizationDomainValidation",
    domain,
    challenge,
    user,
  )
  const cx = { outside: { ...unreachableOutside, txtRecords: async () => [token] } }
  return estate.as(user, "verifyOrganizationDomain", { organizationId, domain }, { cx })
}

const listDomains = async () =>
  (await estate.as("manager", "listOrganizationDomains", { organizationId: "org1" })).domains

describe("the primary domain", () => {
  test("can be a trusted one, which proves nothing to other organizations", async () => {
    await addDomainOf("example.org")
    await estate.as("manager", "setPrimaryOrgDomain", { domain: "example.org" })
    expect((await estate.as("manager", "getMyOrg")).org.primaryDomain).toBe("example.org")
    expect((await listDomains()).find(({ isPrimary }: any) => isPrimary)).toMatchObject({
      domain: "example.org",
      isVerified: false,
    })
    const { user } = await estate.as("manager", "getUserByID", { userId: "manager" })
    expect(user.loginNames).toContain("manager@example.org")
    const cx = estate.cx()
    expect(orgWithDomain(cx, "example.org")).toBeUndefined()
    expect(findOrgByVerifiedDomain(cx, "example.org")).toBeUndefined()
    expect(provenDomainOf(estate.store.state(cx, org, "org1"))).toBe("acme.id.example.com")
    expect(orgRestriction(cx, ["urn:core:iam:org:domain:primary:example.org"])).toBe("")
    await addDomainOf("example.org", "stranger", "org2")
    await proveDomain("example.org", "stranger", "org2")
    expect((await estate.as("manager", "getMyOrg")).org.primaryDomain).toBe("acme.id.example.com")
    expect(orgRestriction(cx, ["urn:core:iam:org:domain:primary:acme.id.example.com"])).toBe("org1")
  })

  test("can be any verified one, and takes effect immediately", async () => {
    await estate.as("owner", "addCustomDomainPolicy", { orgId: "org1", validateOrgDomains: true })
    await addDomainOf("example.org")
    const unproven = estate.as("manager", "setPrimaryOrgDomain", { domain: "example.org" })
    await expect(unproven).rejects.toMatchObject({ id: "org.domain_unproven" })
    await proveDomain("example.org")
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
    await callDomain("deleteOrganizationDomain", "acme.id.example.com")
    expect(findByLoginName(estate.cx(), "manager@acme.id.example.com")).toBeUndefined()
  })

  test("is rejected if it is primary already or unknown, or without permission", async () => {
    const set = (user: TenantUser, domain: string, orgId = "org1") =>
      estate.as(user, "setPrimaryOrgDomain", { domain }, { cx: { orgId } })
    await expect(set("manager", "acme.id.example.com")).rejects.toMatchObject({
      id: "org.unchanged",
    })
    await expect(set("manager", "globex.id.example.com")).rejects.toMatchObject({
      id: "org.domain_missing",
    })
    expect(() => set("nobody", "acme.id.example.com")).toThrow("org.write")
    expect(() => set("stranger", "acme.id.example.com")).toThrow("organization not found")
  })
})
