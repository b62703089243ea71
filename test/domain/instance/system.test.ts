import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import {
  instance,
  instanceAt,
  removedInstances,
  requireInstance,
} from "../../../src/domain/instance/index.ts"
import { allowedOf, setRestrictions } from "../../../src/domain/quota/index.ts"
import { readPersonalToken } from "../../../src/domain/service-account/personal-token.ts"
import { moveInstance } from "../../../src/domain/setup/index.ts"
import { whenOwnerless } from "../../../src/domain/user/index.ts"
import { watchOwners } from "../../../src/server/background/owner-watch.ts"
import { statement } from "../../../src/store/index.ts"
import { type Estate, openEstate, type Person } from "../../support/estate.ts"
import { callerOf } from "../../support/world.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate(["i1", "i2"])
})
afterEach(() => estate.close())

const human = { userName: "root@acme.test", email: { email: "root@acme.test" } }
const byHuman = { case: "human", value: human }
const create = (more: object = {}, as: Person = "system") =>
  estate.as(as, "createInstance", {
    instanceName: "Acme",
    customDomain: "acme.example.net",
    owner: byHuman,
    ...more,
  })

const refused = (made: () => Promise<unknown>, fault: object) =>
  expect((async () => made())()).rejects.toMatchObject(fault)

test("an instance is made whole, and is reached at its own name", async () => {
  const { instanceId } = await create()
  expect(instanceAt(estate.store, "acme.example.net")).toBe(instanceId)
  const cx = estate.cx({ instance: instanceId })
  const made = requireInstance(cx)
  expect(made).toMatchObject({ name: "Acme", publicUrl: "https://acme.example.net" })
  expect(Object.values(made.members)).toMatchObject([{ roles: ["IAM_OWNER"] }])
  const { instance: seen } = await estate.as("system", "getInstance", { instanceId })
  expect(seen).toMatchObject({ id: instanceId, customDomains: [{ primary: true }] })
})

test("an instance speaks the language that it is made with to who reads none of ours", async () => {
  const { instanceId } = await create({ defaultLanguage: "de" })
  const there = estate.cx({ instance: instanceId })
  expect(allowedOf(there, ["sv"])).toEqual(["de"])
  expect(allowedOf(there, ["en", "sv"])).toEqual(["en", "de"])
  expect(allowedOf(estate.cx(), ["sv"])).toEqual(["en"])
  const only = (list: readonly string[]) =>
    setRestrictions(there, instanceId, { allowedLanguages: list })
  await only(["en", "de"])
  expect(allowedOf(there, [])).toEqual(["de"])
  await only(["en"])
  expect(allowedOf(there, ["de"])).toEqual(["en"])
  const other = { defaultLanguage: "sv", customDomain: "other.example.net" }
  await refused(() => create(other), { id: "instance.language_unknown" })
  expect(instanceAt(estate.store, "other.example.net")).toBeUndefined()
})

test("without a name of its own an instance gets one below ours", async () => {
  const { instanceId } = await create({ instanceName: "Größe & Co.", customDomain: "" })
  const { publicUrl } = requireInstance(estate.cx({ instance: instanceId }))
  expect(publicUrl).toMatch(/^https:\/\/gro-e-co-\d+\.id\.example\.com$/)
})

test("a service user who owns it gets a token and a key, for this instance only", async () => {
  const machine = {
    userName: "robot",
    name: "Robot",
    personalAccessToken: {},
    machineKey: { type: 1 },
  }
  const made = await create({ owner: { case: "machine", value: machine } })
  const { instanceId, pat, machineKey } = made
  const token = readPersonalToken(estate.cx({ instance: instanceId }), pat)
  expect(token).toBeDefined()
  expect(readPersonalToken(estate.cx(), pat)).toBeUndefined()
  expect(JSON.parse(machineKey.toString())).toMatchObject({
    type: "serviceaccount",
    userId: token?.userId,
  })
})

const ownedBy = (more: object) => ({
  owner: { case: "machine", value: { userName: "robot", ...more } },
})
const soon = () => timestampFromMs(estate.clock.now() + 60_000)

test.each([
  ["a token that expires", () => ownedBy({ personalAccessToken: { expirationDate: soon() } }), 1],
  ["a token that stays", () => ownedBy({ personalAccessToken: {} }), 0],
  ["a person without a password", () => ({ owner: byHuman }), 1],
])(
  "who makes an instance for %s is warned in the log if it can be lost",
  async (_, more, times) => {
    const warn = vi.fn()
    const asked = { instanceName: "Acme", customDomain: "acme.example.net", ...more() }
    const { instanceId } = await estate.as("system", "createInstance", asked, { cx: { warn } })
    const said = expect.stringContaining(`nobody can administer instance ${instanceId}`)
    expect(warn.mock.calls).toEqual(Array.from({ length: times }, () => [said]))
  },
)

test("an instance that can be lost is warned of each day, until it can't", async () => {
  const { instanceId } = await create(ownedBy({ personalAccessToken: { expirationDate: soon() } }))
  const said: string[] = []
  const warn = (text: string) => void (text.includes(instanceId) && said.push(text))
  const { stop } = watchOwners({
    clock: estate.clock,
    store: estate.store,
    log: {},
    call: (instance: string) => estate.cx({ instance, warn }),
  } as never)
  const last = () => said.at(-1)
  await expect.poll(last).toContain("when their keys, tokens and invitations expire: give one")
  estate.clock.advance(86_400_000)
  await expect.poll(last).toContain("now: give one of its owners a password or a secret")
  const [owner = ""] = Object.keys(requireInstance(estate.cx({ instance: instanceId })).members)
  const own = { instance: instanceId, caller: callerOf(owner) }
  await estate.as("nobody", "addSecret", { userId: owner }, { cx: own })
  estate.clock.advance(86_400_000)
  await stop()
  expect(said).toHaveLength(2)
  expect(await whenOwnerless(estate.cx({ instance: instanceId }))).toBeUndefined()
})

test.each([
  ["no owner", { owner: { case: undefined } }, "instance.owner_missing"],
  [
    "a person without e-mail",
    { owner: { case: "human", value: {} } },
    "instance.owner_email_missing",
  ],
  [
    "a service user without credential",
    { owner: { case: "machine", value: { userName: "r" } } },
    "instance.owner_credential_missing",
  ],
  ["an address for a name", { customDomain: "10.0.0.1" }, "instance.domain_invalid"],
  ["a name with a port", { customDomain: "acme.example.net:80" }, "instance.domain_invalid"],
  ["a name with a path", { customDomain: "acme.example.net/x" }, "instance.domain_invalid"],
  ["a wildcard", { customDomain: "*.example.net" }, "instance.domain_invalid"],
  ["a name that another one has", { customDomain: "i2.example.com" }, "instance.domain_taken"],
  ["that name in capitals", { customDomain: "I2.Example.COM" }, "instance.domain_taken"],
])("no instance is made with %s", async (_, more, id) => {
  const before = await estate.store.log.read(0, 10_000)
  await refused(() => create(more), { id })
  expect((await estate.store.log.read(0, 10_000)).length).toBe(before.length)
})

test("of many who want one name at once, one instance gets it", async () => {
  const made = await Promise.allSettled(Array.from({ length: 8 }, () => create()))
  expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
  const { pagination } = await estate.as("system", "listInstances")
  expect(pagination.totalResult).toBe(3n)
})

test("instances are listed by id, name and domain, and for the system alone", async () => {
  const { instanceId } = await create()
  const ids = async (req: object = {}) =>
    (await estate.as("system", "listInstances", req)).instances.map(({ id }: { id: string }) => id)
  const asc = (more = {}) => ({ pagination: { asc: true, ...more } })
  expect(await ids({ ...asc(), sortingColumn: 1 })).toEqual([instanceId, "i1", "i2"])
  expect(await ids({ ...asc(), sortingColumn: 2 })).toEqual([instanceId, "i1", "i2"])
  expect(await ids({ ...asc({ offset: 2n, limit: 1 }), sortingColumn: 2 })).toEqual(["i2"])
  const filters = (filter: object) => ({ filters: [{ filter }] })
  expect(await ids(filters({ case: "inIdsFilter", value: { ids: ["i2", "x"] } }))).toEqual(["i2"])
  const domains = (...names: string[]) =>
    filters({ case: "customDomainsFilter", value: { domains: names } })
  expect(await ids(domains("ACME.example.net"))).toEqual([instanceId])
  expect(await ids(domains("id.example.com", "nobody.example"))).toEqual(["i1"])
  await refused(() => ids(filters({ case: undefined })), { id: "search.filter_empty" })
  await refused(() => estate.as("owner", "listInstances"), { code: "permission_denied" })
})

test("another domain reaches the instance until it is taken away, and no other", async () => {
  const at = (name: string) => instanceAt(estate.store, name)
  const req = { instanceId: "i1", customDomain: "Login.Example.org" }
  await estate.as("system", "addCustomDomain", req)
  expect([at("login.example.org"), at("login.example.org:8443")]).toEqual(["i1", "i1"])
  await refused(() => estate.as("system", "addCustomDomain", req), { id: "instance.domain_exists" })
  const others = { ...req, instanceId: "i2" }
  await refused(() => estate.as("system", "addCustomDomain", others), {
    id: "instance.domain_taken",
  })
  const { exists } = await estate.as("system", "existsDomain", { domain: "login.example.org" })
  expect(exists).toBe(true)
  const removed = await estate.as("system", "removeCustomDomain", req)
  expect(removed.deletionDate).toBeDefined()
  const again = await estate.as("system", "removeCustomDomain", req)
  expect(again.deletionDate).toBeUndefined()
  expect(at("login.example.org")).toBeUndefined()
  await estate.as("system", "addCustomDomain", others)
  expect(at("login.example.org")).toBe("i2")
})

test("the primary domain can be changed, and the one before it stays", async () => {
  const own = estate.cx({ instance: "i1" })
  const set = (domain: string) =>
    estate.as("system", "setPrimaryDomain", { instanceId: "i1", domain })
  await refused(() => set("new.example.org"), { id: "instance.domain_missing" })
  const req = { instanceId: "i1", customDomain: "new.example.org" }
  await estate.as("system", "addCustomDomain", req)
  await set("new.example.org")
  expect(requireInstance(own).publicUrl).toBe("https://new.example.org")
  expect(instanceAt(estate.store, "id.example.com")).toBe("i1")
  await refused(() => estate.as("system", "removeCustomDomain", req), {
    id: "instance.domain_primary",
  })
  await refused(() => set("new.example.org"), { code: "failed_precondition" })
  const list = { instanceId: "i1", sortingColumn: 1, pagination: { asc: true } }
  const { domains } = await estate.as("system", "listCustomDomains", list)
  expect(domains).toMatchObject([
    { domain: "id.example.com", primary: false },
    { domain: "new.example.org", primary: true },
  ])
})

test("an address that the configuration moves on is free for others", async () => {
  await moveInstance(estate.cx({ instance: "i1" }), "https://moved.example.com")
  expect(instanceAt(estate.store, "id.example.com")).toBeUndefined()
  const { instanceId } = await create({ customDomain: "id.example.com" })
  expect(instanceAt(estate.store, "id.example.com")).toBe(instanceId)
})

test("an owner trusts domains of their own instance, and of no other", async () => {
  const trustedDomain = "proxy.example.org"
  await estate.as("owner", "addTrustedDomain", { trustedDomain })
  await refused(() => estate.as("owner", "addTrustedDomain", { trustedDomain }), {
    code: "already_exists",
  })
  const list = async (instanceId: string, as: Person = "system") =>
    (await estate.as(as, "listTrustedDomains", { instanceId })).trustedDomain
  expect(await list("i1")).toMatchObject([{ instanceId: "i1", domain: trustedDomain }])
  expect(await list("i2")).toEqual([])
  await refused(() => list("i2", "owner"), { code: "not_found" })
  await refused(() => list("i1", "manager"), { code: "permission_denied" })
  const removed = await estate.as("owner", "removeTrustedDomain", { trustedDomain })
  expect(removed.deletionDate).toBeDefined()
  expect(await list("i1")).toEqual([])
})

test("a deleted instance is out of reach at once, and its names are free", async () => {
  const { instanceId } = await create()
  await estate.as("system", "addCustomDomain", { instanceId, customDomain: "two.example.net" })
  const { deletionDate } = await estate.as("system", "deleteInstance", { instanceId })
  expect(deletionDate).toBeDefined()
  for (const name of ["acme.example.net", "two.example.net"]) {
    expect(instanceAt(estate.store, name)).toBeUndefined()
  }
  for (const name of ["getInstance", "updateInstance", "deleteInstance"]) {
    await refused(() => estate.as("system", name, { instanceId, instanceName: "x" }), {
      code: "not_found",
    })
  }
  const { pagination } = await estate.as("system", "listInstances")
  expect(pagination.totalResult).toBe(2n)
  expect((await create()).instanceId).not.toBe(instanceId)
})

const people = statement("SELECT id FROM users WHERE instance = $instance")

test("what a deleted instance had goes, and nothing of the others", async () => {
  const { instanceId } = await create()
  const count = (sql: string) =>
    estate.store.database.query<{ n: number }, []>(sql).get()?.n ?? Number.NaN
  const others = () => count(`SELECT count(*) AS n FROM event WHERE instance <> '${instanceId}'`)
  const left = () =>
    count(`SELECT count(*) AS n FROM event WHERE instance = '${instanceId}' AND stream <>
      (SELECT code FROM name WHERE name = 'instance')`) +
    estate.store.all({ instance: instanceId }, people).length +
    count(`SELECT count(*) AS n FROM claim WHERE instance = '${instanceId}'`)
  expect(left()).toBeGreaterThan(3)
  await estate.as("system", "deleteInstance", { instanceId })
  expect(removedInstances(estate.store)).toMatchObject([{ instance: instanceId }])
  const before = others()
  const keep = { stream: "instance", view: "instance" }
  const purge = () => estate.store.purge({ instance: instanceId, keep, stopped: () => false })
  expect(await purge()).toBeGreaterThan(3)
  expect([left(), others(), await purge()]).toEqual([0, before, 0])
  const cx = estate.cx({ instance: instanceId })
  expect(estate.store.state(cx, instance, instanceId).status).toBe("removed")
})

test("the administrators of any instance are listed for the system", async () => {
  const { instanceId } = await create()
  const list = (id: string, more = {}) =>
    estate.as("system", "listIAMMembers", { instanceId: id, ...more })
  expect((await list(instanceId)).result).toMatchObject([
    { email: "root@acme.test", roles: ["IAM_OWNER"], userType: 1 },
  ])
  const query = { case: "emailQuery", value: { email: "OWNER@", method: 3 } }
  const { result, details } = await list("i1", { queries: [{ query }] })
  expect(result).toMatchObject([{ userId: "owner", roles: ["IAM_OWNER"] }])
  expect(details.totalResult).toBe(1n)
  await refused(() => list("i3"), { code: "not_found" })
})

const viewer = { kind: "system", name: "eyes", roles: ["SYSTEM_OWNER_VIEWER"] } as const
const nothing = { kind: "system", name: "process" } as const

test("a viewer sees and changes nothing; the process itself has no roles at all", async () => {
  const as = (caller: typeof viewer | typeof nothing, name: string, req = {}) =>
    estate.as("system", name, req, { cx: { caller } })
  expect((await as(viewer, "listInstances")).instances).toHaveLength(2)
  const denied = { code: "permission_denied" }
  await refused(() => as(viewer, "deleteInstance", { instanceId: "i2" }), denied)
  await refused(() => as(viewer, "createInstance", { owner: byHuman }), denied)
  await refused(() => as(nothing, "listInstances"), denied)
})

test("what is an instance's own is not the system's by the way", async () => {
  const denied = { code: "permission_denied" }
  for (const name of ["getMyInstance", "listUsers", "listAdministrators", "addOrganization"]) {
    await refused(() => estate.as("system", name, { name: "x" }), denied)
  }
  // An instance must be named: the one of the host is nobody's to mean.
  await refused(() => estate.as("system", "getInstance"), { id: "request.id_missing" })
  await refused(() => estate.as("system", "getInstance", { instanceId: "system" }), {
    code: "not_found",
  })
})

test.each(["owner", "manager", "nobody"] as const)("%s is no system caller", async (who) => {
  for (const name of ["deleteInstance", "addCustomDomain", "removeCustomDomain", "setLimits"]) {
    const req = { instanceId: "i1", customDomain: "evil.example" }
    await refused(() => estate.as(who, name, req), { code: "permission_denied" })
  }
})
