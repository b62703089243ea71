import { afterEach, beforeEach, expect, test } from "vitest"
import { isFeatureOn } from "../../../src/domain/feature/index.ts"
import { type Estate, openEstate, type Person } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate(["i1", "i2"])
})
afterEach(() => estate.close())

const instanceSource = 3
const systemSource = 2

const set = (values: object) => estate.as("owner", "setInstanceFeatures", values)
const shown = (inheritance = false) => estate.as("owner", "getInstanceFeatures", { inheritance })
const refused = (made: () => Promise<unknown>, fault: object) =>
  expect((async () => made())()).rejects.toMatchObject(fault)

test("an instance says what it wants, and what it leaves out stays", async () => {
  expect((await shown()).details).toBeUndefined()
  await set({ userSchema: true, improvedPerformance: [3, 2] })
  await set({ loginV2: { required: true, baseUri: "https://login.example.com" } })
  expect(await shown()).toMatchObject({
    userSchema: { enabled: true, source: instanceSource },
    improvedPerformance: { executionPaths: [2, 3], source: instanceSource },
    loginV2: { required: true, baseUri: "https://login.example.com", source: instanceSource },
  })
  expect((await shown()).permissionCheckV2).toBeUndefined()
})

test("the same again leaves no event, and succeeds", async () => {
  const count = async () => (await estate.store.log.read(0, 10_000)).length
  await set({ userSchema: true })
  const before = await count()
  await set({ userSchema: true })
  expect(await count()).toBe(before)
})

test("what holds for all holds for an instance that doesn't say otherwise", async () => {
  await estate.as("system", "setSystemFeatures", { userSchema: true, permissionCheckV2: true })
  await set({ permissionCheckV2: false })
  expect(await shown(true)).toMatchObject({
    userSchema: { enabled: true, source: systemSource },
    permissionCheckV2: { enabled: false, source: instanceSource },
    debugOidcParentError: { enabled: false, source: 0 },
  })
  expect((await shown()).userSchema).toBeUndefined()
  expect(isFeatureOn(estate.cx({ instance: "i2" }), "permission_check_v2")).toBe(true)
  expect(isFeatureOn(estate.cx({ instance: "i1" }), "permission_check_v2")).toBe(false)
  await estate.as("system", "resetSystemFeatures")
  expect(await shown(true)).toMatchObject({ userSchema: { enabled: false, source: 0 } })
  expect((await estate.as("system", "getSystemFeatures")).userSchema).toBeUndefined()
})

test("the default organisation is turned on for good, whatever the entrance", async () => {
  await estate.as("owner", "activateFeatureLoginDefaultOrg")
  await refused(() => estate.as("owner", "activateFeatureLoginDefaultOrg"), {
    code: "failed_precondition",
    id: "feature.unchanged",
  })
  await refused(() => set({ loginDefaultOrg: false }), { id: "feature.lasting" })
  const off = { instanceId: "i1", featureId: 1, value: { case: "bool", value: false } }
  await refused(() => estate.as("system", "setInstanceFeature", off), { id: "feature.lasting" })
  await set({ userSchema: true })
  await estate.as("owner", "resetInstanceFeatures")
  const after = await shown()
  expect(after).toMatchObject({ loginDefaultOrg: { enabled: true } })
  expect(after.userSchema).toBeUndefined()
  expect(isFeatureOn(estate.cx({ instance: "i1" }), "login_default_org")).toBe(true)
  expect(isFeatureOn(estate.cx({ instance: "i2" }), "login_default_org")).toBe(false)
})

test("the system turns it on for one instance", async () => {
  const on = { instanceId: "i2", featureId: 1, value: { case: "bool", value: true } }
  await estate.as("system", "setInstanceFeature", on)
  expect(isFeatureOn(estate.cx({ instance: "i2" }), "login_default_org")).toBe(true)
  await refused(() => estate.as("system", "setInstanceFeature", on), { id: "feature.unchanged" })
  await refused(() => estate.as("system", "setInstanceFeature", { ...on, featureId: 0 }), {
    code: "invalid_argument",
    id: "feature.unknown",
  })
  await refused(
    () => estate.as("system", "setInstanceFeature", { instanceId: "i2", featureId: 1 }),
    {
      id: "feature.value_missing",
    },
  )
})

test.each([
  ["a path twice", { improvedPerformance: [2, 2] }],
  ["an unspecified path", { improvedPerformance: [0] }],
  ["a login page that is no web address", { loginV2: { baseUri: "javascript:alert(1)" } }],
  ["one that is no address", { loginV2: { baseUri: "login" } }],
])("%s is refused, and nothing is set", async (_, values) => {
  await refused(() => set({ ...values, userSchema: true }), { id: "feature.value_invalid" })
  expect((await shown()).userSchema).toBeUndefined()
})

test.each(["manager", "nobody", "stranger"] as const)(
  "%s sets no features",
  async (who: Person) => {
    for (const name of ["setInstanceFeatures", "resetInstanceFeatures", "getInstanceFeatures"]) {
      await refused(() => estate.as(who, name), { code: "permission_denied" })
    }
    await refused(() => estate.as(who, "activateFeatureLoginDefaultOrg"), {
      code: "permission_denied",
    })
  },
)

test("features for all are the system's alone", async () => {
  for (const name of ["setSystemFeatures", "resetSystemFeatures", "getSystemFeatures"]) {
    await refused(() => estate.as("owner", name), { code: "permission_denied" })
  }
  await refused(() => estate.as("system", "setInstanceFeatures"), { code: "permission_denied" })
})

test("what was never said began at no time", async () => {
  const { details } = await estate.as("system", "resetSystemFeatures")
  expect(details.creationDate).toBeUndefined()
  expect(details.changeDate).toBeUndefined()
})

test("organisations and users have none yet, and a foreign one is not there", async () => {
  await estate.as("owner", "setOrganizationFeatures", { organizationId: "org2" })
  await estate.as("owner", "setUserFeatures", { userId: "nobody" })
  await refused(() => estate.as("manager", "getOrganizationFeatures", { organizationId: "org2" }), {
    code: "not_found",
  })
  await refused(() => estate.as("owner", "getUserFeatures", { userId: "gone" }), {
    code: "not_found",
  })
})
