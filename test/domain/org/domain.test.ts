import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { challengeDomain } from "../../../src/domain/org/domain.ts"
import {
  addDomain,
  findOrgByDomain,
  org,
  orgWithDomain,
  verifyDomain,
} from "../../../src/domain/org/index.ts"
import { claimNames, domainClaims } from "../../../src/domain/org-cascade/index.ts"
import { findMachineByName } from "../../../src/domain/service-account/find.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { findUserName } from "../../../src/domain/user-lookup/query.ts"
import type { Outside } from "../../../src/kernel/port/outbound.ts"
import { runReactors } from "../../../src/store/index.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { humanInput, openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

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

const listDomains = async (request: object = {}, user: TenantUser = "manager") => {
  const { domains, pagination } = await estate.as(user, "listOrganizationDomains", {
    organizationId: "org1",
    pagination: { asc: true },
    ...request,
  })
  expect(pagination.totalResult).toBe(BigInt(domains.length))
  return domains
}

/** A user of org2 whose name ends in a domain. */
const addUserNamed = (userName: string) =>
  estate.step((tx) => addUser(tx, userName, { ...humanInput("sam", "org2"), userName }))

const outsideWith = (answers: Partial<Outside>) => ({
  outside: { ...unreachableOutside, ...answers },
})

const httpAnswer = (status: number, body: string) => ({ send: async () => ({ status, body }) })

const verifyDomainBy = (
  domain: string,
  answers: Partial<Outside> = {},
  user: TenantUser = "manager",
) =>
  estate.as(
    user,
    "verifyOrganizationDomain",
    { organizationId: "org1", domain },
    { cx: outsideWith(answers) },
  )

/** Proves a domain that an organization has. */
async function proveDomain(domain: string, user: TenantUser = "manager", organizationId = "org1") {
  const request = { organizationId, domain }
  const { token } = await callDomain(
    "generateOrganizationDomainValidation",
    domain,
    { organizationId, type: 2 },
    user,
  )
  const answers = { cx: outsideWith({ txtRecords: async () => [token] }) }
  return estate.as(user, "verifyOrganizationDomain", request, answers)
}

test("where an organization's domains must be proven, none is taken on trust", async () => {
  await estate.as("owner", "addCustomDomainPolicy", { orgId: "org1", validateOrgDomains: true })
  await addDomainOf("acme.example")
  await addDomainOf("globex.example", "stranger", "org2")
  const cx = estate.cx()
  expect(findOrgByDomain(cx, "acme.example")).toBeUndefined()
  expect(findOrgByDomain(cx, "globex.example")).toBe("org2")
  await estate.as("owner", "updateDomainPolicy", { validateOrgDomains: true })
  await addDomainOf("globex.test", "stranger", "org2")
  expect(findOrgByDomain(cx, "globex.test")).toBeUndefined()
})

describe("a domain", () => {
  test("is trusted if nobody loses a name by it", async () => {
    await addDomainOf(" Example.ORG ")
    expect(await listDomains()).toMatchObject([
      { domain: "acme.id.example.com", isVerified: true, isPrimary: true },
      { domain: "example.org", isVerified: false, isPrimary: false, validationType: 0 },
    ])
    expect(findOrgByDomain(estate.cx(), "EXAMPLE.org")).toBe("org1")
  })

  test("is normalized to its ASCII form", async () => {
    await addDomainOf("bücher.example")
    expect((await listDomains())[1].domain).toBe("xn--bcher-kva.example")
    await expect(addDomainOf("BÜCHER.example")).rejects.toMatchObject({ id: "org.domain_exists" })
    expect(findByLoginName(estate.cx(), "manager@Bücher.example")).toBe("manager")
  })

  test.each([
    ["nothing", ""],
    ["one label", "localhost"],
    ["an address", "127.0.0.1"],
    ["a port", "example.org:80"],
    ["a path", "example.org/x"],
    ["a name in it", "anna@example.org"],
    ["a space", "exa mple.org"],
    ["an empty label", "example..org"],
    ["a dot at its end", "example.org."],
    ["an underscore", "_dmarc.example.org"],
    ["too much", `${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(80)}.org`],
  ])("is rejected with %s", async (_, domain) => {
    await expect(addDomainOf(domain)).rejects.toMatchObject({ id: "org.domain_invalid" })
  })

  test("belongs to one organization of an instance", async () => {
    await addDomainOf("example.org")
    await proveDomain("example.org")
    const again = addDomainOf("example.org", "stranger", "org2")
    await expect(again).rejects.toMatchObject({ code: "already_exists", id: "org.domain_taken" })
  })

  test("is added once by two concurrent requests", async () => {
    await Promise.allSettled([
      addDomainOf("example.org"),
      addDomainOf("example.org", "stranger", "org2"),
    ])
    const named = ["manager", "stranger"].map((name) =>
      findByLoginName(estate.cx(), `${name}@example.org`),
    )
    expect(named.filter((id) => id !== undefined)).toHaveLength(1)
  })

  test("is free for others once it is deleted", async () => {
    await addDomainOf("example.org")
    expect(await callDomain("deleteOrganizationDomain", "EXAMPLE.org")).toHaveProperty(
      "deletionDate",
    )
    const { deletionDate } = await callDomain("deleteOrganizationDomain", "example.org")
    expect(deletionDate).toBeUndefined()
    expect(findByLoginName(estate.cx(), "manager@example.org")).toBeUndefined()
    await addDomainOf("example.org", "stranger", "org2")
    expect(findByLoginName(estate.cx(), "stranger@example.org")).toBe("stranger")
  })

  test("can't be deleted if it is primary", async () => {
    const deleted = callDomain("deleteOrganizationDomain", "acme.id.example.com")
    await expect(deleted).rejects.toMatchObject({ id: "org.domain_is_primary" })
  })

  test("is one of at most a hundred", async () => {
    const cx = estate.cx()
    const isUsed = () => false
    for (let at = 1; at < 100; at++) {
      await addDomain(cx, "org1", { domain: `d${at}.example`, isUsed })
    }
    await expect(addDomainOf("more.example")).rejects.toMatchObject({ id: "org.domains_too_many" })
  })

  test("of another organization is not found", () => {
    for (const name of [
      "addOrganizationDomain",
      "deleteOrganizationDomain",
      "verifyOrganizationDomain",
      "listOrganizationDomains",
      "generateOrganizationDomainValidation",
    ]) {
      expect(() => callDomain(name, "example.org", {}, "stranger"), name).toThrow(
        "organization not found",
      )
      expect(() => callDomain(name, "example.org", {}, "nobody"), name).toThrow("org.")
    }
  })
})

test("domains are listed by name or date, and found in any case", async () => {
  estate.clock.advance(1000)
  await addDomainOf("zoo.example")
  estate.clock.advance(1000)
  await addDomainOf("ant.example")
  const names = async (request: object) =>
    (await listDomains(request)).map(({ domain }: { domain: string }) => domain)
  expect(await names({})).toEqual(["acme.id.example.com", "ant.example", "zoo.example"])
  expect(await names({ sortingColumn: 2, pagination: {} })).toEqual([
    "ant.example",
    "zoo.example",
    "acme.id.example.com",
  ])
  const filters = [{ filter: { case: "domainFilter", value: { domain: ".EXAMPLE", method: 6 } } }]
  expect(await names({ filters })).toEqual(["ant.example", "zoo.example"])
  await expect(async () => names({ filters: [{}] })).rejects.toMatchObject({
    id: "search.filter_empty",
  })
})

describe("a domain that must be verified", () => {
  beforeEach(async () => {
    await addUserNamed("sam@example.org")
    await addDomainOf("example.org")
  })
  const challenge = async (type: number, domain = "example.org") =>
    callDomain("generateOrganizationDomainValidation", domain, { type })
  const refused = { code: "failed_precondition", id: "org.domain_unproven" }

  test("is used in names of other organizations' users, and has no effect", async () => {
    expect((await listDomains())[1]).toMatchObject({ isVerified: false, isPrimary: false })
    expect(findByLoginName(estate.cx(), "manager@example.org")).toBeUndefined()
    expect(findByLoginName(estate.cx(), "sam@example.org")).toBe("sam@example.org")
    const request = { domain: "example.org" }
    await expect(estate.as("manager", "setPrimaryOrgDomain", request)).rejects.toMatchObject(
      refused,
    )
  })

  test("is verified by a DNS record, and affected users get another name", async () => {
    const { token, url } = await challenge(2)
    expect(token).toHaveLength(32)
    expect(url).toBe("_core-challenge.example.org")
    expect((await listDomains())[1].validationType).toBe(2)
    const asked: string[] = []
    await verifyDomainBy("example.org", {
      txtRecords: async (name) => {
        asked.push(name)
        return ["v=spf1 -all", ` ${token} `]
      },
    })
    expect(asked).toEqual([url])
    expect((await listDomains())[1].isVerified).toBe(true)
    const cx = estate.cx()
    expect(findUserName(cx, "sam@example.org")).toMatch(/^[\w-]{16}@temporary\.id\.example\.com$/)
    expect(findByLoginName(cx, "sam@example.org")).toBeUndefined()
    expect(findByLoginName(cx, findUserName(cx, "sam@example.org") ?? "")).toBe("sam@example.org")
    expect(findByLoginName(cx, "manager@example.org")).toBe("manager")
    const events = (await estate.store.log.read(0, 1000)).map(({ type }) => type)
    expect(events.slice(-2)).toEqual(["org.domain.verified", "user.domain.claimed"])
  })

  test("is verified by a file", async () => {
    const { token, url } = await challenge(1)
    expect(url).toBe(`https://example.org/.well-known/core-challenge/${token}.txt`)
    const asked: string[] = []
    const send: Outside["send"] = async (request) => {
      asked.push(`${request.method} ${request.url}`)
      return { status: 200, body: `${token}\n` }
    }
    await verifyDomainBy("example.org", { send })
    expect(asked).toEqual([`GET ${url}`])
    expect((await listDomains())[1].isVerified).toBe(true)
  })

  test.each<[string, number, (token: string) => Partial<Outside>]>([
    ["no response", 2, () => ({})],
    ["no record", 2, () => ({ txtRecords: async () => [] })],
    ["a record that has more", 2, (token) => ({ txtRecords: async () => [`x${token}`] })],
    ["a page where a record is asked for", 2, (token) => httpAnswer(200, token)],
    ["nobody on the web", 1, () => ({})],
    ["a page that has more", 1, (token) => httpAnswer(200, `<p>${token}</p>`)],
    ["a page that is not there", 1, (token) => httpAnswer(404, token)],
    ["a way elsewhere", 1, (token) => httpAnswer(302, token)],
    ["a record where a page is asked for", 1, (token) => ({ txtRecords: async () => [token] })],
  ])("is not verified by %s", async (_, type, answers) => {
    const { token } = await challenge(type)
    await expect(verifyDomainBy("example.org", answers(token))).rejects.toMatchObject(refused)
    expect((await listDomains())[1].isVerified).toBe(false)
    expect(findUserName(estate.cx(), "sam@example.org")).toBe("sam@example.org")
  })

  test("is not verified by an earlier challenge or without one", async () => {
    await expect(verifyDomainBy("example.org")).rejects.toMatchObject(refused)
    const { token } = await challenge(2)
    await challenge(2)
    const texts = async () => [token]
    await expect(verifyDomainBy("example.org", { txtRecords: texts })).rejects.toMatchObject(
      refused,
    )
    const proven = verifyDomain(estate.cx(), "org1", {
      domain: "example.org",
      challenge: { type: "dns", token },
    })
    await expect(proven).rejects.toMatchObject(refused)
  })

  test("is not verified if the challenge is replaced during the check", async () => {
    const { token } = await challenge(2)
    const texts = async () => {
      await challenge(2)
      return [token]
    }
    await expect(verifyDomainBy("example.org", { txtRecords: texts })).rejects.toMatchObject(
      refused,
    )
  })

  test("is verified once; repeating it changes nothing", async () => {
    const { token } = await challenge(2)
    const texts = async () => [token]
    await verifyDomainBy("example.org", { txtRecords: texts })
    const before = estate.store.log.durable()
    await verifyDomainBy("example.org")
    expect(estate.store.log.durable()).toBe(before)
    await expect(challenge(2)).rejects.toMatchObject({ id: "org.domain_verified" })
  })

  test("belongs to the organization that verifies it first", async () => {
    await addUserNamed("eve@other.example")
    await callDomain("addOrganizationDomain", "other.example")
    const { token } = await challenge(2, "other.example")
    await addDomainOf("other.example", "stranger", "org2")
    await proveDomain("other.example", "stranger", "org2")
    const texts = async () => [token]
    const late = verifyDomainBy("other.example", { txtRecords: texts })
    await expect(late).rejects.toMatchObject({ id: "org.domain_taken" })
  })

  test("requires a known method and an existing domain", async () => {
    await expect(challenge(0)).rejects.toMatchObject({ code: "invalid_argument" })
    await expect(challenge(9)).rejects.toMatchObject({ code: "invalid_argument" })
    await expect(challenge(2, "absent.example")).rejects.toMatchObject({
      id: "org.domain_missing",
    })
    await expect(verifyDomainBy("absent.example")).rejects.toMatchObject({
      id: "org.domain_missing",
    })
  })
})

describe("a trusted domain of another organization", () => {
  const homeOf = (domain: string) => findOrgByDomain(estate.cx(), domain)
  const typesOf = async (from: number) =>
    (await estate.store.log.read(from, 1000)).map(({ type }) => type)

  beforeEach(async () => {
    await addDomainOf("example.org", "stranger", "org2")
    await addUserNamed("sam@example.org")
  })

  test("stays theirs while another organization only requests it", async () => {
    await addDomainOf("example.org")
    expect((await listDomains())[1]).toMatchObject({ domain: "example.org", isVerified: false })
    expect(homeOf("example.org")).toBe("org2")
    expect(findByLoginName(estate.cx(), "stranger@example.org")).toBe("stranger")
    expect(findByLoginName(estate.cx(), "manager@example.org")).toBeUndefined()
    await callDomain("deleteOrganizationDomain", "example.org")
    expect(homeOf("example.org")).toBe("org2")
  })

  test("moves to the organization that verifies it, with the login names", async () => {
    await addDomainOf("example.org")
    const before = estate.store.log.durable()
    await proveDomain("example.org")
    expect(await typesOf(before)).toEqual([
      "org.domain.verification.added",
      "org.domain.removed",
      "org.domain.verified",
      "user.domain.claimed",
    ])
    const cx = estate.cx()
    expect(homeOf("example.org")).toBe("org1")
    expect((await listDomains())[1]).toMatchObject({ domain: "example.org", isVerified: true })
    expect(findByLoginName(cx, "manager@example.org")).toBe("manager")
    expect(findByLoginName(cx, "stranger@example.org")).toBeUndefined()
    expect(findByLoginName(cx, "stranger@globex.id.example.com")).toBe("stranger")
    expect(findUserName(cx, "sam@example.org")).toContain("@temporary.")
    const late = addDomainOf("example.org", "stranger", "org2")
    await expect(late).rejects.toMatchObject({ id: "org.domain_taken" })
  })

  test("stays theirs if they verify it", async () => {
    await proveDomain("example.org", "stranger", "org2")
    expect(homeOf("example.org")).toBe("org2")
    await expect(addDomainOf("example.org")).rejects.toMatchObject({ id: "org.domain_taken" })
    expect(findUserName(estate.cx(), "sam@example.org")).toBe("sam@example.org")
  })

  test.each([["with"], ["without"]])(
    "is replaced by a verified one if it was their legacy primary domain (%s one)",
    async (options) => {
      const own = "globex.id.example.com"
      await estate.step((tx) =>
        tx.append(org, "org2", [
          { type: "org.domain.primary.set", data: { domain: "example.org" } },
        ]),
      )
      const request = { organizationId: "org2" }
      const remove = { ...request, domain: own }
      if (options === "without") await estate.as("stranger", "deleteOrganizationDomain", remove)
      await addDomainOf("example.org")
      await proveDomain("example.org")
      const { domains } = await estate.as("stranger", "listOrganizationDomains", request)
      expect(domains).toMatchObject([{ domain: own, isVerified: true, isPrimary: true }])
      expect(homeOf(own)).toBe("org2")
      expect(orgWithDomain(estate.cx(), own)).toBe("org2")
    },
  )

  test('is not verified by the legacy "verified" flag', async () => {
    await estate.step((tx) =>
      tx.append(org, "org1", [
        { type: "org.domain.added", data: { domain: "old.example" } },
        { type: "org.domain.verified", data: { domain: "old.example" } },
      ]),
    )
    expect((await listDomains())[1]).toMatchObject({ domain: "old.example", isVerified: false })
    await estate.as("manager", "setPrimaryOrgDomain", { domain: "old.example" })
    expect(orgWithDomain(estate.cx(), "old.example")).toBeUndefined()
  })
})

test("a subdomain of the own host can't be trusted by anyone", async () => {
  for (const domain of ["temporary.id.example.com", "x.acme.id.example.com", "id.example.com"]) {
    await addDomainOf(domain)
    expect(findOrgByDomain(estate.cx(), domain), domain).toBeUndefined()
  }
  await estate.as("owner", "addOrganization", { name: "Temporary", organizationId: "org3" })
  expect(findOrgByDomain(estate.cx(), "temporary-org3.id.example.com")).toBe("org3")
})

test("service accounts are renamed with their client ID, in several steps if there are many", async () => {
  const cx = estate.cx()
  await createUser(cx, "m1", {
    kind: "machine",
    orgId: "org2",
    userName: "bot@example.org",
    name: "Bot",
    accessTokenType: "bearer",
  })
  for (let at = 0; at < 120; at++) await addUserNamed(`u${at}@example.org`)
  await addDomainOf("example.org")
  const { token } = await callDomain("generateOrganizationDomainValidation", "example.org", {
    type: 2,
  })
  await verifyDomainBy("example.org", { txtRecords: async () => [token] })
  // The old name no longer signs in, and no user of another organization can take it.
  expect(findByLoginName(cx, "u99@example.org")).toBeUndefined()
  await expect(addUserNamed("new@example.org")).rejects.toMatchObject({
    id: "user.name_of_other_org",
  })
  await claimNames(cx, { orgId: "org1", domain: "example.org" })
  for (const id of ["u0", "u60", "u119"]) {
    expect(findUserName(cx, `${id}@example.org`)).toContain("@temporary.")
  }
  expect(findMachineByName(cx, "bot@example.org")).toBeUndefined()
  expect(findMachineByName(cx, findUserName(cx, "m1") ?? "")).toBe("m1")
  await createUser(cx, "sam", { ...humanInput("sam", "org1"), userName: "u0@example.org" })
  expect(findByLoginName(cx, "u0@example.org")).toBe("sam")
})

test("the process resumes an interrupted claim", async () => {
  const cx = estate.cx()
  for (let at = 0; at < 60; at++) await addUserNamed(`u${at}@example.org`)
  // Added without checking its use, as in a race.
  await addDomain(cx, "org1", { domain: "example.org", isUsed: () => false })
  const { domain, token } = await challengeDomain(cx, "org1", {
    domain: "example.org",
    type: "dns",
  })
  await verifyDomain(cx, "org1", { domain, challenge: { type: "dns", token } })
  const call = (instance: string) => estate.cx({ instance })
  await runReactors(estate.store, estate.clock, [domainClaims(call)]).drain()
  for (const id of ["u0", "u59"]) {
    expect(findUserName(cx, `${id}@example.org`)).toContain("@temporary.")
  }
})

test("claimed names stay after the domain is deleted", async () => {
  const cx = estate.cx()
  await addUserNamed("sam@example.org")
  await claimNames(cx, { orgId: "org1", domain: "example.org" })
  expect(findUserName(cx, "sam@example.org")).toBe("sam@example.org")
})

test("an organization is found by its proven domains, by who holds the permission", async () => {
  await addDomainOf("example.org")
  const find = (user: TenantUser, domain: string) =>
    estate.as(user, "getOrgByDomainGlobal", { domain })
  const onTrust = ["example.org"]
  for (const domain of ["", "absent.example", ...onTrust]) {
    await expect(async () => find("stranger", domain), domain).rejects.toMatchObject({
      code: "not_found",
    })
  }
  await proveDomain("example.org")
  for (const domain of ["EXAMPLE.org", "acme.id.example.com"]) {
    expect((await find("stranger", domain)).org.id).toBe("org1")
  }
  expect(() => find("nobody", "example.org")).toThrow("org.global.read")
})
