import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  const own = { organizationId: "org1", projectId: "px", name: "Own" }
  await estate.as("manager", "createProject", own)
})
afterEach(() => estate.close())

const a1 = { applicationId: "a1", projectId: "px" }
const frontChannelLogout = { uri: "https://shop.example.com/bye", sessionRequired: true }
const minute = durationFromMs(60_000)

const createApplication = (value: object) =>
  estate.as("manager", "createApplication", {
    ...a1,
    name: "Shop",
    applicationType: {
      case: "oidcConfiguration",
      value: { redirectUris: ["https://shop.example.com/callback"], ...value },
    },
  })
const updateApplication = (value: object) => {
  const applicationType = { case: "oidcConfiguration", value }
  return estate.as("manager", "updateApplication", { ...a1, applicationType })
}
const getApplication = async () =>
  (await estate.as("manager", "getApplication", { applicationId: "a1" })).application.configuration
    .value

test("the token settings of an application are stored, returned, and replaced as a whole", async () => {
  const tokenSettings = { accessTokenLifetime: minute, refreshTokenGrace: durationFromMs(0) }
  await createApplication({ tokenSettings, frontChannelLogout })
  const before = await getApplication()
  expect(before).toMatchObject({ tokenSettings, frontChannelLogout })
  expect(before.tokenSettings.idTokenLifetime).toBeUndefined()

  await updateApplication({ tokenSettings: { idTokenLifetime: minute } })
  const after = await getApplication()
  expect(after.tokenSettings).toMatchObject({ idTokenLifetime: minute })
  expect(after.tokenSettings.accessTokenLifetime).toBeUndefined()
  expect(after).toMatchObject({ frontChannelLogout })
})

test("the PKCE requirement is stored and can be reset to the organization's default", async () => {
  await createApplication({})
  const head = estate.store.log.durable()
  await updateApplication({ pkce: 0 })
  expect(estate.store.log.durable()).toBe(head)
  expect(await getApplication()).toMatchObject({ pkce: 0 })
  await updateApplication({ pkce: 1 })
  await updateApplication({ developmentMode: true })
  expect(await getApplication()).toMatchObject({ pkce: 1 })
  await updateApplication({ pkce: 0 })
  expect(await getApplication()).toMatchObject({ pkce: 0 })
})

test("an organization stores the defaults of its applications, and keeps its name", async () => {
  const organizationId = "org1"
  const settings = async () => {
    const queries = [{ query: { case: "idQuery", value: { id: organizationId } } }]
    return (await estate.as("manager", "listOrganizations", { queries })).result[0]
  }
  const { name } = await settings()
  const oidcSettings = { pkceRequired: true, refreshTokenGrace: minute }
  await estate.as("manager", "updateOrganization", { organizationId, oidcSettings })
  expect(await settings()).toMatchObject({ name, oidcSettings })
  await estate.as("manager", "updateOrganization", { organizationId, name: "Renamed" })
  expect(await settings()).toMatchObject({ name: "Renamed", oidcSettings })
  await estate.as("manager", "updateOrganization", { organizationId, oidcSettings: {} })
  const after = await settings()
  expect(after.oidcSettings).toMatchObject({ pkceRequired: false })
  expect(after.oidcSettings.refreshTokenGrace).toBeUndefined()
})

test("the typ of JWT access tokens is stored and returned; other values are rejected", async () => {
  await createApplication({ tokenSettings: { accessTokenJwtType: "JWT" } })
  expect((await getApplication()).tokenSettings).toMatchObject({ accessTokenJwtType: "JWT" })
  await updateApplication({ tokenSettings: {} })
  expect((await getApplication()).tokenSettings.accessTokenJwtType).toBeUndefined()
  await expect(
    updateApplication({ tokenSettings: { accessTokenJwtType: "jwt" } }),
  ).rejects.toMatchObject({
    id: "token.jwt_type_invalid",
  })
})

test("a service account keeps its JWT format until the format is set again", async () => {
  const machineOf = async () =>
    (await estate.as("manager", "getUserByID", { userId: "robot1" })).user.type.value
  const machine = { name: "Robot", accessTokenType: 1, accessTokenJwtType: "JWT" }
  await estate.as("manager", "createUser", {
    organizationId: "org1",
    userId: "robot1",
    userType: { case: "machine", value: machine },
  })
  expect(await machineOf()).toMatchObject({
    accessTokenJwtType: "JWT",
    accessTokenSigningAlgorithm: "",
  })
  const change = (value: object) =>
    estate.as("manager", "updateUser", {
      userId: "robot1",
      userType: { case: "machine", value },
    })
  await change({ description: "Builds" })
  expect(await machineOf()).toMatchObject({ description: "Builds", accessTokenJwtType: "JWT" })
  await change({ accessTokenJwtType: "" })
  expect(await machineOf()).toMatchObject({ accessTokenJwtType: "at+jwt" })
  await expect(change({ accessTokenSigningAlgorithm: "RS512" })).rejects.toMatchObject({
    id: "web_key.none_active",
  })
})

test("unset settings are not returned, and other changes do not set them", async () => {
  await createApplication({})
  await updateApplication({ developmentMode: true })
  const { tokenSettings, frontChannelLogout: logout } = await getApplication()
  expect([tokenSettings, logout]).toEqual([undefined, undefined])
})

test.each([
  "https://other.example.com/bye",
  "https://shop.example.com:8443/bye",
  "http://shop.example.com/bye",
  "javascript:alert(1)",
  "https://shop.example.com/bye#there",
])("rejects %s as a front-channel logout URI", async (uri) => {
  await createApplication({ frontChannelLogout })
  await expect(updateApplication({ frontChannelLogout: { uri } })).rejects.toMatchObject({
    code: "invalid_argument",
  })
  expect(await getApplication()).toMatchObject({ frontChannelLogout })
})

test("the front-channel logout is removed with its URI", async () => {
  await createApplication({ frontChannelLogout })
  await updateApplication({ frontChannelLogout: {} })
  expect((await getApplication()).frontChannelLogout).toMatchObject({ uri: "" })
})

test("the requirements for requests are stored, returned, and replaced as a whole", async () => {
  await createApplication({ requestRules: { pushedRequired: true } })
  expect((await getApplication()).requestRules).toMatchObject({
    pushedRequired: true,
    signedRequired: false,
  })
  await updateApplication({ developmentMode: true })
  expect((await getApplication()).requestRules).toMatchObject({ pushedRequired: true })
  await updateApplication({ requestRules: { signedRequired: true, authMethodRequired: true } })
  expect((await getApplication()).requestRules).toMatchObject({
    pushedRequired: false,
    signedRequired: true,
    authMethodRequired: true,
  })
})
