import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import {
  instance,
  instanceAt,
  removedInstances,
  requireInstance,
} from "../../../src/domain/instance/index.ts"
import { negotiateLanguages, setRestrictions } from "../../../src/domain/quota/index.ts"
import { parsePersonalToken } from "../../../src/domain/service-account/personal-token.ts"
import { changePublicUrl } from "../../../src/domain/setup/index.ts"
import { findOwnerlessTime } from "../../../src/domain/user/index.ts"
import { watchOwners } from "../../../src/server/background/owner-watch.ts"
import { statement } from "../../../src/store/index.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"
import { callerOf } from "../../support/test-environment.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant(["i1", "i2"])
})
afterEach(() => estate.close())

const human = { userName: "root@acme.test", email: { email: "root@acme.test" } }
const byHuman = { case: "human", value: human }
const createInstance = (more: object = {}, as: TenantUser = "system") =>
  estate.as(as, "createInstance", {
    instanceName: "Acme",
    customDomain: "acme.example.net",
    owner: byHuman,
    ...more,
  })

const expectFault = (created: () => Promise<unknown>, fault: object) =>
  expect((async () => created())()).rejects.toMatchObject(fault)

test("an instance is created completely, and is reachable at its own domain", async () => {
  const { instanceId } = await createInstance()
  expect(instanceAt(estate.store, "acme.example.net")).toBe(instanceId)
  const cx = estate.cx({ instance: instanceId })
  const made = requireInstance(cx)
  expect(made).toMatchObject({ name: "Acme", publicUrl: "https://acme.example.net" })
  expect(Object.values(made.members)).toMatchObject([{ roles: ["IAM_OWNER"] }])
  const { instance: seen } = await estate.as("system", "getInstance", { instanceId })
  expect(seen).toMatchObject({ id: instanceId, customDomains: [{ primary: true }] })
})

test("an instance uses its default language for users without a supported language", async () => {
  const { instanceId } = await createInstance({ defaultLanguage: "de" })
  const there = estate.cx({ instance: instanceId })
  expect(negotiateLanguages(there, ["sv"])).toEqual(["de"])
  expect(negotiateLanguages(there, ["en", "sv"])).toEqual(["en", "de"])
  expect(negotiateLanguages(estate.cx(), ["sv"])).toEqual(["en"])
  const only = (list: readonly string[]) =>
    setRestrictions(there, instanceId, { allowedLanguages: list })
  await only(["en", "de"])
  expect(negotiateLanguages(there, [])).toEqual(["de"])
  await only(["en"])
  expect(negotiateLanguages(there, ["de"])).toEqual(["en"])
  const other = { defaultLanguage: "sv", customDomain: "other.example.net" }
  await expectFault(() => createInstance(other), { id: "instance.language_unknown" })
  expect(instanceAt(estate.store, "other.example.net")).toBeUndefined()
})

test("an instance without a custom domain gets a generated one", async () => {
  const { instanceId } = await createInstance({ instanceName: "Größe & Co.", customDomain: "" })
  const { publicUrl } = requireInstance(estate.cx({ instance: instanceId }))
  expect(publicUrl).toMatch(/^https:\/\/gro-e-co-\d+\.id\.example\.com$/)
})

test("a service account who owns it gets a token and a key, for this instance only", async () => {
  const machine = {
    userName: "robot",
    name: "Robot",
    personalAccessToken: {},
    machineKey: { type: 1 },
  }
  const made = await createInstance({ owner: { case: "machine", value: machine } })
  const { instanceId, pat, machineKey } = made
  const token = parsePersonalToken(estate.cx({ instance: instanceId }), pat)
  expect(token).toBeDefined()
  expect(parsePersonalToken(estate.cx(), pat)).toBeUndefined()
  expect(JSON.parse(machineKey.toString())).toMatchObject({
    type: "serviceaccount",
    userId: token?.userId,
  })
})

const ownedByMachine = (more: object) => ({
  owner: { case: "machine", value: { userName: "robot", ...more } },
})
const inOneMinute = () => timestampFromMs(estate.clock.now() + 60_000)

test.each([
  [
    "a token that expires",
    () => ownedByMachine({ personalAccessToken: { expirationDate: inOneMinute() } }),
    ["will have no administrator who can sign in when their keys, tokens and invitations expire"],
  ],
  ["a token that stays", () => ownedByMachine({ personalAccessToken: {} }), []],
  [
    "a person without a password",
    () => ({ owner: byHuman }),
    ["has no administrator who can sign in: give one of its owners"],
  ],
])(
  "creating an instance for %s logs a warning if it can lose its owner",
  async (_, more, warnings) => {
    const warn = vi.fn()
    const asked = { instanceName: "Acme", customDomain: "acme.example.net", ...more() }
    const { instanceId } = await estate.as("system", "createInstance", asked, { cx: { warn } })
    expect(warn.mock.calls).toEqual(
      warnings.map((text) => [expect.stringContaining(`instance ${instanceId} ${text}`)]),
    )
  },
)

test("an instance that can lose its owner logs a warning daily until it can't", async () => {
  const { instanceId } = await createInstance(
    ownedByMachine({ personalAccessToken: { expirationDate: inOneMinute() } }),
  )
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
  await expect.poll(last).toContain("has no administrator who can sign in: give one of its owners")
  const [owner = ""] = Object.keys(requireInstance(estate.cx({ instance: instanceId })).members)
  const own = { instance: instanceId, caller: callerOf(owner) }
  await estate.as("nobody", "addSecret", { userId: owner }, { cx: own })
  estate.clock.advance(86_400_000)
  await stop()
  expect(said).toHaveLength(2)
  expect(await findOwnerlessTime(estate.cx({ instance: instanceId }))).toBeUndefined()
})

test.each([
  ["no owner", { owner: { case: undefined } }, "instance.owner_missing"],
  [
    "a person without e-mail",
    { owner: { case: "human", value: {} } },
    "instance.owner_email_missing",
  ],
  [
    "a service account without credential",
    { owner: { case: "machine", value: { userName: "r" } } },
    "instance.owner_credential_missing",
  ],
  ["an address for a name", { customDomain: "10.0.0.1" }, "instance.domain_invalid"],
  ["a name with a port", { customDomain: "acme.example.net:80" }, "instance.domain_invalid"],
  ["a name with a path", { customDomain: "acme.example.net/x" }, "instance.domain_invalid"],
  ["a wildcard", { customDomain: "*.example.net" }, "instance.domain_invalid"],
  ["a name that another one has", { customDomain: "i2.example.com" }, "instance.domain_taken"],
  ["that name in capitals", { customDomain: "I2.Example.COM" }, "instance.domain_taken"],
])("rejects an instance with %s", async (_, more, id) => {
  const before = await estate.store.log.read(0, 10_000)
  await expectFault(() => createInstance(more), { id })
  expect((await estate.store.log.read(0, 10_000)).length).toBe(before.length)
})

test("one of many concurrent creations with the same domain succeeds", async () => {
  const made = await Promise.allSettled(Array.from({ length: 8 }, () => createInstance()))
  expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
  const { pagination } = await estate.as("system", "listInstances")
  expect(pagination.totalResult).toBe(3n)
})

test("instances are listed by ID, name, and domain, for the system only", async () => {
  const { instanceId } = await createInstance()
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
  await expectFault(() => ids(filters({ case: undefined })), { id: "search.filter_empty" })
  await expectFault(() => estate.as("owner", "listInstances"), { code: "permission_denied" })
})

test("an additional domain reaches the instance until it is removed", async () => {
  const at = (name: string) => instanceAt(estate.store, name)
  const req = { instanceId: "i1", customDomain: "Login.Example.org" }
  await estate.as("system", "addCustomDomain", req)
  expect([at("login.example.org"), at("login.example.org:8443")]).toEqual(["i1", "i1"])
  await expectFault(() => estate.as("system", "addCustomDomain", req), {
    id: "instance.domain_exists",
  })
  const others = { ...req, instanceId: "i2" }
  await expectFault(() => estate.as("system", "addCustomDomain", others), {
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

test("the primary domain can be changed, and the previous one stays", async () => {
  const own = estate.cx({ instance: "i1" })
  const set = (domain: string) =>
    estate.as("system", "setPrimaryDomain", { instanceId: "i1", domain })
  await expectFault(() => set("new.example.org"), { id: "instance.domain_missing" })
  const req = { instanceId: "i1", customDomain: "new.example.org" }
  await estate.as("system", "addCustomDomain", req)
  await set("new.example.org")
  expect(requireInstance(own).publicUrl).toBe("https://new.example.org")
  expect(instanceAt(estate.store, "id.example.com")).toBe("i1")
  await expectFault(() => estate.as("system", "removeCustomDomain", req), {
    id: "instance.domain_primary",
  })
  await expectFault(() => set("new.example.org"), { code: "failed_precondition" })
  const list = { instanceId: "i1", sortingColumn: 1, pagination: { asc: true } }
  const { domains } = await estate.as("system", "listCustomDomains", list)
  expect(domains).toMatchObject([
    { domain: "id.example.com", primary: false },
    { domain: "new.example.org", primary: true },
  ])
})

test("an address that the configuration no longer uses is available to other instances", async () => {
  await changePublicUrl(estate.cx({ instance: "i1" }), "https://moved.example.com")
  expect(instanceAt(estate.store, "id.example.com")).toBeUndefined()
  const { instanceId } = await createInstance({ customDomain: "id.example.com" })
  expect(instanceAt(estate.store, "id.example.com")).toBe(instanceId)
})

test("an owner manages trusted domains of their own instance only", async () => {
  const trustedDomain = "proxy.example.org"
  await estate.as("owner", "addTrustedDomain", { trustedDomain })
  await expectFault(() => estate.as("owner", "addTrustedDomain", { trustedDomain }), {
    code: "already_exists",
  })
  const list = async (instanceId: string, as: TenantUser = "system") =>
    (await estate.as(as, "listTrustedDomains", { instanceId })).trustedDomain
  expect(await list("i1")).toMatchObject([{ instanceId: "i1", domain: trustedDomain }])
  expect(await list("i2")).toEqual([])
  await expectFault(() => list("i2", "owner"), { code: "not_found" })
  await expectFault(() => list("i1", "manager"), { code: "permission_denied" })
  const removed = await estate.as("owner", "removeTrustedDomain", { trustedDomain })
  expect(removed.deletionDate).toBeDefined()
  expect(await list("i1")).toEqual([])
})

test("a deleted instance is unreachable immediately, and its domains are free", async () => {
  const { instanceId } = await createInstance()
  await estate.as("system", "addCustomDomain", { instanceId, customDomain: "two.example.net" })
  const { deletionDate } = await estate.as("system", "deleteInstance", { instanceId })
  expect(deletionDate).toBeDefined()
  for (const name of ["acme.example.net", "two.example.net"]) {
    expect(instanceAt(estate.store, name)).toBeUndefined()
  }
  for (const name of ["getInstance", "updateInstance", "deleteInstance"]) {
    await expectFault(() => estate.as("system", name, { instanceId, instanceName: "x" }), {
      code: "not_found",
    })
  }
  const { pagination } = await estate.as("system", "listInstances")
  expect(pagination.totalResult).toBe(2n)
  expect((await createInstance()).instanceId).not.toBe(instanceId)
})

const people = statement("SELECT id FROM users WHERE instance = $instance")

test("the data of a deleted instance is erased, and that of others is kept", async () => {
  const { instanceId } = await createInstance()
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

test("the system lists administrators of any instance", async () => {
  const { instanceId } = await createInstance()
  const list = (id: string, more = {}) =>
    estate.as("system", "listIAMMembers", { instanceId: id, ...more })
  expect((await list(instanceId)).result).toMatchObject([
    { email: "root@acme.test", roles: ["IAM_OWNER"], userType: 1 },
  ])
  const query = { case: "emailQuery", value: { email: "OWNER@", method: 3 } }
  const { result, details } = await list("i1", { queries: [{ query }] })
  expect(result).toMatchObject([{ userId: "owner", roles: ["IAM_OWNER"] }])
  expect(details.totalResult).toBe(1n)
  await expectFault(() => list("i3"), { code: "not_found" })
})

const viewer = { kind: "system", name: "eyes", roles: ["SYSTEM_OWNER_VIEWER"] } as const
const processCaller = { kind: "system", name: "process" } as const

test("a viewer reads and changes nothing; the process itself has no roles", async () => {
  const as = (caller: typeof viewer | typeof processCaller, name: string, req = {}) =>
    estate.as("system", name, req, { cx: { caller } })
  expect((await as(viewer, "listInstances")).instances).toHaveLength(2)
  const denied = { code: "permission_denied" }
  await expectFault(() => as(viewer, "deleteInstance", { instanceId: "i2" }), denied)
  await expectFault(() => as(viewer, "createInstance", { owner: byHuman }), denied)
  await expectFault(() => as(processCaller, "listInstances"), denied)
})

test("the system caller has no implicit access to an instance's own operations", async () => {
  const denied = { code: "permission_denied" }
  for (const name of ["getMyInstance", "listUsers", "listAdministrators", "addOrganization"]) {
    await expectFault(() => estate.as("system", name, { name: "x" }), denied)
  }
  // The request must name an instance: the one of the host is not a default.
  await expectFault(() => estate.as("system", "getInstance"), { id: "request.id_missing" })
  await expectFault(() => estate.as("system", "getInstance", { instanceId: "system" }), {
    code: "not_found",
  })
})

test.each(["owner", "manager", "nobody"] as const)("%s is not a system caller", async (user) => {
  for (const name of ["deleteInstance", "addCustomDomain", "removeCustomDomain", "setLimits"]) {
    const req = { instanceId: "i1", customDomain: "evil.example" }
    await expectFault(() => estate.as(user, name, req), { code: "permission_denied" })
  }
})
