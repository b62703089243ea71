// Lists without a table: creating or removing rows between pages neither skips nor repeats a row.
import { afterEach, beforeEach, expect, test } from "vitest"
import { storeRefusal } from "../../../src/domain/refusal/index.ts"
import { searchRefusals } from "../../../src/domain/refusal/refusal.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

type List = {
  readonly create: (name: string) => unknown
  readonly remove: (name: string) => unknown
  /** The names on a page. */
  readonly page: (pagination: object) => Promise<readonly string[]>
}

const callAs = (as: TenantUser, call: string, request: object) => estate.as(as, call, request)
const domainsOf = (rows: readonly { domain: string }[]) => rows.map(({ domain }) => domain)

const customDomains = {
  create: (name: string) =>
    callAs("system", "addCustomDomain", { instanceId: "i1", customDomain: `${name}.example.net` }),
  remove: (name: string) =>
    callAs("system", "removeCustomDomain", {
      instanceId: "i1",
      customDomain: `${name}.example.net`,
    }),
}
const roles = {
  create: (key: string) =>
    callAs("owner", "createRole", { key, level: 3, permissions: ["project.read"] }),
  remove: (key: string) => callAs("owner", "deleteRole", { key }),
}

const instanceIds = new Map<string, string>()

const lists: Readonly<Record<string, List>> = {
  roles: {
    ...roles,
    page: async (pagination) =>
      (await callAs("owner", "listRoles", { pagination, level: 3 })).roles.map(
        ({ key }: { key: string }) => key,
      ),
  },
  "names of roles": {
    ...roles,
    create: (key) =>
      callAs("owner", "createRole", { key, level: 4, permissions: ["project.grant.read"] }),
    page: async (query) => (await callAs("owner", "listProjectGrantMemberRoles", { query })).result,
  },
  "trusted domains": {
    create: (name) => callAs("owner", "addTrustedDomain", { trustedDomain: `${name}.example.net` }),
    remove: (name) =>
      callAs("owner", "removeTrustedDomain", { trustedDomain: `${name}.example.net` }),
    page: async (pagination) =>
      domainsOf((await callAs("owner", "listTrustedDomains", { pagination })).trustedDomain),
  },
  "custom domains": {
    ...customDomains,
    page: async (pagination) =>
      domainsOf((await callAs("owner", "listCustomDomains", { pagination })).domains),
  },
  "domains of v1": {
    ...customDomains,
    page: async (query) =>
      domainsOf((await callAs("owner", "listInstanceDomains", { query })).result),
  },
  instances: {
    create: async (instanceName) => {
      const machine = { userName: "robot", name: "Robot", personalAccessToken: {} }
      const { instanceId } = await callAs("system", "createInstance", {
        instanceName,
        customDomain: `${instanceName}.example.net`,
        owner: { case: "machine", value: machine },
      })
      instanceIds.set(instanceName, instanceId)
    },
    remove: (name) => callAs("system", "deleteInstance", { instanceId: instanceIds.get(name) }),
    page: async (pagination) =>
      (await callAs("system", "listInstances", { pagination, sortingColumn: 2 })).instances.map(
        ({ name }: { name: string }) => name,
      ),
  },
}

const nameAt = (at: number) => `n${String(at).padStart(2, "0")}`
const listOrders = Object.keys(lists).flatMap((of) =>
  [true, false].map((asc) => [of, asc] as const),
)

test.each(listOrders)("of %s, ascending: %s", async (of, asc) => {
  const list = lists[of]
  if (!list) throw new Error(of)
  for (let at = 10; at < 20; at++) await list.create(nameAt(at))
  const [before, after] = asc ? [0, 30] : [30, 0]
  const seen: string[] = []
  for (let turn = 0; ; turn++) {
    const page = await list.page({ offset: BigInt(turn * 2), limit: 2, asc })
    seen.push(...page)
    if (page.length < 2) break
    // One more before the rows read so far, one less among them, and one more after the rest.
    if (turn < 5) await list.create(nameAt(before + turn))
    if (turn === 2) await list.create(nameAt(after))
    if (turn > 2) await list.remove(nameAt(before + turn - 3))
  }
  const stayed = Array.from({ length: 10 }, (_, at) => nameAt(at + 10))
  const ours = seen
    .map((name) => name.replace(".example.net", ""))
    .filter((name) => /^n\d\d$/.test(name))
  expect(new Set(ours).size).toBe(ours.length)
  expect(ours.toSorted()).toEqual(expect.arrayContaining([...stayed, nameAt(after)]))
})

test("of rejected requests, although the oldest are dropped", () => {
  const refuse = (at: number) =>
    storeRefusal(estate.cx({ requestId: `${at}` }), {
      endpoint: "/oauth/v2/token",
      error: "invalid_request",
      description: "",
      clientId: "",
      findings: [],
    })
  const page = (offset: number) => {
    const wanted = { requestId: "", appId: "", page: { offset, limit: 200, asc: true } }
    return searchRefusals(estate.cx(), wanted).rows.map(({ requestId }) => Number(requestId))
  }
  for (let at = 0; at < 500; at++) refuse(at)
  const first = page(0)
  for (let at = 500; at < 520; at++) refuse(at)
  const all = [...first, ...page(200), ...page(400)]
  expect(all).toEqual(Array.from({ length: 520 }, (_, at) => at))
})
