import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { challengeDomain } from "../../../src/domain/org/domain.ts"
import {
  addDomain,
  org,
  orgOfDomain,
  orgWithDomain,
  verifyDomain,
} from "../../../src/domain/org/index.ts"
import { claimNames, domainClaims } from "../../../src/domain/org-cascade/index.ts"
import { findMachineByName } from "../../../src/domain/service-account/find.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { userNameOf } from "../../../src/domain/user-lookup/query.ts"
import type { Outside } from "../../../src/kernel/port/outbound.ts"
import { runReactors } from "../../../src/store/index.ts"
import { type Estate, openEstate, type Person, person } from "../../support/estate.ts"
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

const listed = async (request: object = {}, who: Person = "manager") => {
  const { domains, pagination } = await estate.as(who, "listOrganizationDomains", {
    organizationId: "org1",
    pagination: { asc: true },
    ...request,
  })
  expect(pagination.totalResult).toBe(BigInt(domains.length))
  return domains
}

/** Somebody of org2 whose name ends in a domain. */
const squat = (userName: string) =>
  estate.step((tx) => addUser(tx, userName, { ...person("sam", "org2"), userName }))

const outside = (answers: Partial<Outside>) => ({ outside: { ...nowhere, ...answers } })

const page = (status: number, body: string) => ({ send: async () => ({ status, body }) })

const verify = (domain: string, answers: Partial<Outside> = {}, who: Person = "manager") =>
  estate.as(
    who,
    "verifyOrganizationDomain",
    { organizationId: "org1", domain },
    { cx: outside(answers) },
  )

/** Proves a domain that an organisation has. */
async function prove(domain: string, who: Person = "manager", organizationId = "org1") {
  const request = { organizationId, domain }
  const { token } = await ask(
    "generateOrganizationDomainValidation",
    domain,
    { organizationId, type: 2 },
    who,
  )
  const answers = { cx: outside({ texts: async () => [token] }) }
  return estate.as(who, "verifyOrganizationDomain", request, answers)
}

test("where an organisation's domains must be proven, none is taken on trust", async () => {
  await estate.as("owner", "addCustomDomainPolicy", { orgId: "org1", validateOrgDomains: true })
  await add("acme.example")
  await add("globex.example", "stranger", "org2")
  const cx = estate.cx()
  expect(orgOfDomain(cx, "acme.example")).toBeUndefined()
  expect(orgOfDomain(cx, "globex.example")).toBe("org2")
  await estate.as("owner", "updateDomainPolicy", { validateOrgDomains: true })
  await add("globex.test", "stranger", "org2")
  expect(orgOfDomain(cx, "globex.test")).toBeUndefined()
})

describe("a domain", () => {
  test("is taken on trust where nobody loses anything by it", async () => {
    await add(" Example.ORG ")
    expect(await listed()).toMatchObject([
      { domain: "acme.id.example.com", isVerified: true, isPrimary: true },
      { domain: "example.org", isVerified: false, isPrimary: false, validationType: 0 },
    ])
    expect(orgOfDomain(estate.cx(), "EXAMPLE.org")).toBe("org1")
  })

  test("has one spelling, its ASCII form", async () => {
    await add("bücher.example")
    expect((await listed())[1].domain).toBe("xn--bcher-kva.example")
    await expect(add("BÜCHER.example")).rejects.toMatchObject({ id: "org.domain_exists" })
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
  ])("with %s is refused", async (_, domain) => {
    await expect(add(domain)).rejects.toMatchObject({ id: "org.domain_invalid" })
  })

  test("belongs to one organisation of an instance", async () => {
    await add("example.org")
    await prove("example.org")
    const again = add("example.org", "stranger", "org2")
    await expect(again).rejects.toMatchObject({ code: "already_exists", id: "org.domain_taken" })
  })

  test("of two who add it at the same moment goes to one", async () => {
    await Promise.allSettled([add("example.org"), add("example.org", "stranger", "org2")])
    const named = ["manager", "stranger"].map((name) =>
      findByLoginName(estate.cx(), `${name}@example.org`),
    )
    expect(named.filter((id) => id !== undefined)).toHaveLength(1)
  })

  test("is needed no more once it is deleted, and anybody may have it then", async () => {
    await add("example.org")
    expect(await ask("deleteOrganizationDomain", "EXAMPLE.org")).toHaveProperty("deletionDate")
    const { deletionDate } = await ask("deleteOrganizationDomain", "example.org")
    expect(deletionDate).toBeUndefined()
    expect(findByLoginName(estate.cx(), "manager@example.org")).toBeUndefined()
    await add("example.org", "stranger", "org2")
    expect(findByLoginName(estate.cx(), "stranger@example.org")).toBe("stranger")
  })

  test("that is the primary one can't be deleted", async () => {
    const deleted = ask("deleteOrganizationDomain", "acme.id.example.com")
    await expect(deleted).rejects.toMatchObject({ id: "org.domain_is_primary" })
  })

  test("is one of a hundred at most", async () => {
    const cx = estate.cx()
    const isUsed = () => false
    for (let at = 1; at < 100; at++) {
      await addDomain(cx, "org1", { domain: `d${at}.example`, isUsed })
    }
    await expect(add("more.example")).rejects.toMatchObject({ id: "org.domains_too_many" })
  })

  test("of somebody else's organisation is nobody's business", () => {
    for (const name of [
      "addOrganizationDomain",
      "deleteOrganizationDomain",
      "verifyOrganizationDomain",
      "listOrganizationDomains",
      "generateOrganizationDomainValidation",
    ]) {
      expect(() => ask(name, "example.org", {}, "stranger"), name).toThrow("no such organisation")
      expect(() => ask(name, "example.org", {}, "nobody"), name).toThrow("org.")
    }
  })
})

test("domains are listed by name or date, and found whatever their case", async () => {
  estate.clock.advance(1000)
  await add("zoo.example")
  estate.clock.advance(1000)
  await add("ant.example")
  const names = async (request: object) =>
    (await listed(request)).map(({ domain }: { domain: string }) => domain)
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

describe("a domain that must be proven", () => {
  beforeEach(async () => {
    await squat("sam@example.org")
    await add("example.org")
  })
  const challenge = async (type: number, domain = "example.org") =>
    ask("generateOrganizationDomainValidation", domain, { type })
  const refused = { code: "failed_precondition", id: "org.domain_unproven" }

  test("is one that people of others sign in with, and counts for nothing", async () => {
    expect((await listed())[1]).toMatchObject({ isVerified: false, isPrimary: false })
    expect(findByLoginName(estate.cx(), "manager@example.org")).toBeUndefined()
    expect(findByLoginName(estate.cx(), "sam@example.org")).toBe("sam@example.org")
    const request = { domain: "example.org" }
    await expect(estate.as("manager", "setPrimaryOrgDomain", request)).rejects.toMatchObject(
      refused,
    )
  })

  test("is proven by a record, and those who had a name in it get another", async () => {
    const { token, url } = await challenge(2)
    expect(token).toHaveLength(32)
    expect(url).toBe("_core-challenge.example.org")
    expect((await listed())[1].validationType).toBe(2)
    const asked: string[] = []
    await verify("example.org", {
      texts: async (name) => {
        asked.push(name)
        return ["v=spf1 -all", ` ${token} `]
      },
    })
    expect(asked).toEqual([url])
    expect((await listed())[1].isVerified).toBe(true)
    const cx = estate.cx()
    expect(userNameOf(cx, "sam@example.org")).toMatch(/^[\w-]{16}@temporary\.id\.example\.com$/)
    expect(findByLoginName(cx, "sam@example.org")).toBeUndefined()
    expect(findByLoginName(cx, userNameOf(cx, "sam@example.org") ?? "")).toBe("sam@example.org")
    expect(findByLoginName(cx, "manager@example.org")).toBe("manager")
    const events = (await estate.store.log.read(0, 1000)).map(({ type }) => type)
    expect(events.slice(-2)).toEqual(["org.domain.verified", "user.domain.claimed"])
  })

  test("is proven by a file", async () => {
    const { token, url } = await challenge(1)
    expect(url).toBe(`https://example.org/.well-known/core-challenge/${token}.txt`)
    const asked: string[] = []
    const send: Outside["send"] = async (request) => {
      asked.push(`${request.method} ${request.url}`)
      return { status: 200, body: `${token}\n` }
    }
    await verify("example.org", { send })
    expect(asked).toEqual([`GET ${url}`])
    expect((await listed())[1].isVerified).toBe(true)
  })

  test.each<[string, number, (token: string) => Partial<Outside>]>([
    ["nobody answers", 2, () => ({})],
    ["no record", 2, () => ({ texts: async () => [] })],
    ["a record that has more", 2, (token) => ({ texts: async () => [`x${token}`] })],
    ["a page where a record is asked for", 2, (token) => page(200, token)],
    ["nobody on the web", 1, () => ({})],
    ["a page that has more", 1, (token) => page(200, `<p>${token}</p>`)],
    ["a page that is not there", 1, (token) => page(404, token)],
    ["a way elsewhere", 1, (token) => page(302, token)],
    ["a record where a page is asked for", 1, (token) => ({ texts: async () => [token] })],
  ])("is not proven by %s", async (_, type, answers) => {
    const { token } = await challenge(type)
    await expect(verify("example.org", answers(token))).rejects.toMatchObject(refused)
    expect((await listed())[1].isVerified).toBe(false)
    expect(userNameOf(estate.cx(), "sam@example.org")).toBe("sam@example.org")
  })

  test("is not proven by what was asked for before, nor without a question", async () => {
    await expect(verify("example.org")).rejects.toMatchObject(refused)
    const { token } = await challenge(2)
    await challenge(2)
    const texts = async () => [token]
    await expect(verify("example.org", { texts })).rejects.toMatchObject(refused)
    const proven = verifyDomain(estate.cx(), "org1", {
      domain: "example.org",
      challenge: { type: "dns", token },
    })
    await expect(proven).rejects.toMatchObject(refused)
  })

  test("that was asked for anew while one looked is not proven", async () => {
    const { token } = await challenge(2)
    const texts = async () => {
      await challenge(2)
      return [token]
    }
    await expect(verify("example.org", { texts })).rejects.toMatchObject(refused)
  })

  test("is proven once; to verify it again changes nothing", async () => {
    const { token } = await challenge(2)
    const texts = async () => [token]
    await verify("example.org", { texts })
    const before = estate.store.log.durable()
    await verify("example.org")
    expect(estate.store.log.durable()).toBe(before)
    await expect(challenge(2)).rejects.toMatchObject({ id: "org.domain_verified" })
  })

  test("goes to who proves it first", async () => {
    await squat("eve@other.example")
    await ask("addOrganizationDomain", "other.example")
    const { token } = await challenge(2, "other.example")
    await add("other.example", "stranger", "org2")
    await prove("other.example", "stranger", "org2")
    const texts = async () => [token]
    const late = verify("other.example", { texts })
    await expect(late).rejects.toMatchObject({ id: "org.domain_taken" })
  })

  test("is asked for by a known way, on a domain that is there", async () => {
    await expect(challenge(0)).rejects.toMatchObject({ code: "invalid_argument" })
    await expect(challenge(9)).rejects.toMatchObject({ code: "invalid_argument" })
    await expect(challenge(2, "absent.example")).rejects.toMatchObject({
      id: "org.domain_missing",
    })
    await expect(verify("absent.example")).rejects.toMatchObject({ id: "org.domain_missing" })
  })
})

describe("a domain that somebody has on trust", () => {
  const homeOf = (domain: string) => orgOfDomain(estate.cx(), domain)
  const typesOf = async (from: number) =>
    (await estate.store.log.read(from, 1000)).map(({ type }) => type)

  beforeEach(async () => {
    await add("example.org", "stranger", "org2")
    await squat("sam@example.org")
  })

  test("is still theirs where another one only wants it", async () => {
    await add("example.org")
    expect((await listed())[1]).toMatchObject({ domain: "example.org", isVerified: false })
    expect(homeOf("example.org")).toBe("org2")
    expect(findByLoginName(estate.cx(), "stranger@example.org")).toBe("stranger")
    expect(findByLoginName(estate.cx(), "manager@example.org")).toBeUndefined()
    await ask("deleteOrganizationDomain", "example.org")
    expect(homeOf("example.org")).toBe("org2")
  })

  test("goes to who proves it, and login names with it", async () => {
    await add("example.org")
    const before = estate.store.log.durable()
    await prove("example.org")
    expect(await typesOf(before)).toEqual([
      "org.domain.verification.added",
      "org.domain.removed",
      "org.domain.verified",
      "user.domain.claimed",
    ])
    const cx = estate.cx()
    expect(homeOf("example.org")).toBe("org1")
    expect((await listed())[1]).toMatchObject({ domain: "example.org", isVerified: true })
    expect(findByLoginName(cx, "manager@example.org")).toBe("manager")
    expect(findByLoginName(cx, "stranger@example.org")).toBeUndefined()
    expect(findByLoginName(cx, "stranger@globex.id.example.com")).toBe("stranger")
    expect(userNameOf(cx, "sam@example.org")).toContain("@temporary.")
    const late = add("example.org", "stranger", "org2")
    await expect(late).rejects.toMatchObject({ id: "org.domain_taken" })
  })

  test("stays with them where they prove it", async () => {
    await prove("example.org", "stranger", "org2")
    expect(homeOf("example.org")).toBe("org2")
    await expect(add("example.org")).rejects.toMatchObject({ id: "org.domain_taken" })
    expect(userNameOf(estate.cx(), "sam@example.org")).toBe("sam@example.org")
  })

  test.each([["with"], ["without"]])(
    "and as their primary one, of old, is replaced by one that is proven (%s one)",
    async (how) => {
      const own = "globex.id.example.com"
      await estate.step((tx) =>
        tx.append(org, "org2", [
          { type: "org.domain.primary.set", data: { domain: "example.org" } },
        ]),
      )
      const request = { organizationId: "org2" }
      const remove = { ...request, domain: own }
      if (how === "without") await estate.as("stranger", "deleteOrganizationDomain", remove)
      await add("example.org")
      await prove("example.org")
      const { domains } = await estate.as("stranger", "listOrganizationDomains", request)
      expect(domains).toMatchObject([{ domain: own, isVerified: true, isPrimary: true }])
      expect(homeOf(own)).toBe("org2")
      expect(orgWithDomain(estate.cx(), own)).toBe("org2")
    },
  )

  test("of old, when it was called verified, is not proven by that", async () => {
    await estate.step((tx) =>
      tx.append(org, "org1", [
        { type: "org.domain.added", data: { domain: "old.example" } },
        { type: "org.domain.verified", data: { domain: "old.example" } },
      ]),
    )
    expect((await listed())[1]).toMatchObject({ domain: "old.example", isVerified: false })
    await estate.as("manager", "setPrimaryOrgDomain", { domain: "old.example" })
    expect(orgWithDomain(estate.cx(), "old.example")).toBeUndefined()
  })
})

test("a domain below our own host is nobody's to take on trust", async () => {
  for (const domain of ["temporary.id.example.com", "x.acme.id.example.com", "id.example.com"]) {
    await add(domain)
    expect(orgOfDomain(estate.cx(), domain), domain).toBeUndefined()
  }
  await estate.as("owner", "addOrganization", { name: "Temporary", organizationId: "org3" })
  expect(orgOfDomain(estate.cx(), "temporary-org3.id.example.com")).toBe("org3")
})

test("service users are claimed with their client id, and many in several steps", async () => {
  const cx = estate.cx()
  await createUser(cx, "m1", {
    kind: "machine",
    orgId: "org2",
    userName: "bot@example.org",
    name: "Bot",
    accessTokenType: "bearer",
  })
  for (let at = 0; at < 120; at++) await squat(`u${at}@example.org`)
  await add("example.org")
  const { token } = await ask("generateOrganizationDomainValidation", "example.org", { type: 2 })
  await verify("example.org", { texts: async () => [token] })
  // Whoever still has such a name does not sign in with it, and nobody of others can take one.
  expect(findByLoginName(cx, "u99@example.org")).toBeUndefined()
  await expect(squat("new@example.org")).rejects.toMatchObject({ id: "user.name_of_other_org" })
  await claimNames(cx, { orgId: "org1", domain: "example.org" })
  for (const id of ["u0", "u60", "u119"]) {
    expect(userNameOf(cx, `${id}@example.org`)).toContain("@temporary.")
  }
  expect(findMachineByName(cx, "bot@example.org")).toBeUndefined()
  expect(findMachineByName(cx, userNameOf(cx, "m1") ?? "")).toBe("m1")
  await createUser(cx, "sam", { ...person("sam", "org1"), userName: "u0@example.org" })
  expect(findByLoginName(cx, "u0@example.org")).toBe("sam")
})

test("the process goes on with claiming, wherever it was stopped", async () => {
  const cx = estate.cx()
  for (let at = 0; at < 60; at++) await squat(`u${at}@example.org`)
  // Added without asking who uses it: as when two things happen at the same moment.
  await addDomain(cx, "org1", { domain: "example.org", isUsed: () => false })
  const { domain, token } = await challengeDomain(cx, "org1", {
    domain: "example.org",
    type: "dns",
  })
  await verifyDomain(cx, "org1", { domain, challenge: { type: "dns", token } })
  const call = (instance: string) => estate.cx({ instance })
  await runReactors(estate.store, estate.clock, [domainClaims(call)]).drain()
  for (const id of ["u0", "u59"]) {
    expect(userNameOf(cx, `${id}@example.org`)).toContain("@temporary.")
  }
})

test("what is claimed is left alone once the domain is given up", async () => {
  const cx = estate.cx()
  await squat("sam@example.org")
  await claimNames(cx, { orgId: "org1", domain: "example.org" })
  expect(userNameOf(cx, "sam@example.org")).toBe("sam@example.org")
})

test("an organisation is found by its proven domains, by who holds the permission", async () => {
  await add("example.org")
  const find = (who: Person, domain: string) => estate.as(who, "getOrgByDomainGlobal", { domain })
  const onTrust = ["example.org"]
  for (const domain of ["", "absent.example", ...onTrust]) {
    await expect(async () => find("stranger", domain), domain).rejects.toMatchObject({
      code: "not_found",
    })
  }
  await prove("example.org")
  for (const domain of ["EXAMPLE.org", "acme.id.example.com"]) {
    expect((await find("stranger", domain)).org.id).toBe("org1")
  }
  expect(() => find("nobody", "example.org")).toThrow("org.global.read")
})
