import { afterEach, beforeEach, expect, test } from "vitest"
import { isFeatureOn } from "../../../src/domain/feature/index.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant(["i1", "i2"])
})
afterEach(() => estate.close())

const instanceSource = 3
const systemSource = 2

const setFeatures = (values: object) => estate.as("owner", "setInstanceFeatures", values)
const getFeatures = (inheritance = false) =>
  estate.as("owner", "getInstanceFeatures", { inheritance })
const expectFault = (created: () => Promise<unknown>, fault: object) =>
  expect((async () => created())()).rejects.toMatchObject(fault)

test("an instance sets features, and omitted ones stay", async () => {
  expect((await getFeatures()).details).toBeUndefined()
  await setFeatures({ userSchema: true, improvedPerformance: [3, 2] })
  await setFeatures({ loginV2: { required: true, baseUri: "https://login.example.com" } })
  expect(await getFeatures()).toMatchObject({
    userSchema: { enabled: true, source: instanceSource },
    improvedPerformance: { executionPaths: [2, 3], source: instanceSource },
    loginV2: { required: true, baseUri: "https://login.example.com", source: instanceSource },
  })
  expect((await getFeatures()).permissionCheckV2).toBeUndefined()
})

test("setting the same values again succeeds without an event", async () => {
  const count = async () => (await estate.store.log.read(0, 10_000)).length
  await setFeatures({ userSchema: true })
  const before = await count()
  await setFeatures({ userSchema: true })
  expect(await count()).toBe(before)
})

test("system defaults apply to an instance that doesn't override them", async () => {
  await estate.as("system", "setSystemFeatures", { userSchema: true, permissionCheckV2: true })
  await setFeatures({ permissionCheckV2: false })
  expect(await getFeatures(true)).toMatchObject({
    userSchema: { enabled: true, source: systemSource },
    permissionCheckV2: { enabled: false, source: instanceSource },
    debugOidcParentError: { enabled: false, source: 0 },
  })
  expect((await getFeatures()).userSchema).toBeUndefined()
  expect(isFeatureOn(estate.cx({ instance: "i2" }), "permission_check_v2")).toBe(true)
  expect(isFeatureOn(estate.cx({ instance: "i1" }), "permission_check_v2")).toBe(false)
  await estate.as("system", "resetSystemFeatures")
  expect(await getFeatures(true)).toMatchObject({ userSchema: { enabled: false, source: 0 } })
  expect((await estate.as("system", "getSystemFeatures")).userSchema).toBeUndefined()
})

test("the default organization feature stays on, whichever API is used", async () => {
  await estate.as("owner", "activateFeatureLoginDefaultOrg")
  await expectFault(() => estate.as("owner", "activateFeatureLoginDefaultOrg"), {
    code: "failed_precondition",
    id: "feature.unchanged",
  })
  await expectFault(() => setFeatures({ loginDefaultOrg: false }), { id: "feature.lasting" })
  const off = { instanceId: "i1", featureId: 1, value: { case: "bool", value: false } }
  await expectFault(() => estate.as("system", "setInstanceFeature", off), { id: "feature.lasting" })
  await setFeatures({ userSchema: true })
  await estate.as("owner", "resetInstanceFeatures")
  const after = await getFeatures()
  expect(after).toMatchObject({ loginDefaultOrg: { enabled: true } })
  expect(after.userSchema).toBeUndefined()
  expect(isFeatureOn(estate.cx({ instance: "i1" }), "login_default_org")).toBe(true)
  expect(isFeatureOn(estate.cx({ instance: "i2" }), "login_default_org")).toBe(false)
})

test("the system turns it on for one instance", async () => {
  const on = { instanceId: "i2", featureId: 1, value: { case: "bool", value: true } }
  await estate.as("system", "setInstanceFeature", on)
  expect(isFeatureOn(estate.cx({ instance: "i2" }), "login_default_org")).toBe(true)
  await expectFault(() => estate.as("system", "setInstanceFeature", on), {
    id: "feature.unchanged",
  })
  await expectFault(() => estate.as("system", "setInstanceFeature", { ...on, featureId: 0 }), {
    code: "invalid_argument",
    id: "feature.unknown",
  })
  await expectFault(
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
])("rejects %s and sets nothing", async (_, values) => {
  await expectFault(() => setFeatures({ ...values, userSchema: true }), {
    id: "feature.value_invalid",
  })
  expect((await getFeatures()).userSchema).toBeUndefined()
})

test.each(["manager", "nobody", "stranger"] as const)(
  "%s sets no features",
  async (user: TenantUser) => {
    for (const name of ["setInstanceFeatures", "resetInstanceFeatures", "getInstanceFeatures"]) {
      await expectFault(() => estate.as(user, name), { code: "permission_denied" })
    }
    await expectFault(() => estate.as(user, "activateFeatureLoginDefaultOrg"), {
      code: "permission_denied",
    })
  },
)

test("system-wide features can be set by the system only", async () => {
  for (const name of ["setSystemFeatures", "resetSystemFeatures", "getSystemFeatures"]) {
    await expectFault(() => estate.as("owner", name), { code: "permission_denied" })
  }
  await expectFault(() => estate.as("system", "setInstanceFeatures"), { code: "permission_denied" })
})

test("an unset feature has no date", async () => {
  const { details } = await estate.as("system", "resetSystemFeatures")
  expect(details.creationDate).toBeUndefined()
  expect(details.changeDate).toBeUndefined()
})

test("organizations and users have no features, and inaccessible ones are not found", async () => {
  await estate.as("owner", "setOrganizationFeatures", { organizationId: "org2" })
  await estate.as("owner", "setUserFeatures", { userId: "nobody" })
  await expectFault(
    () => estate.as("manager", "getOrganizationFeatures", { organizationId: "org2" }),
    {
      code: "not_found",
    },
  )
  await expectFault(() => estate.as("owner", "getUserFeatures", { userId: "gone" }), {
    code: "not_found",
  })
})
