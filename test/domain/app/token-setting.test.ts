import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { type Estate, openEstate } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
  const own = { organizationId: "org1", projectId: "px", name: "Own" }
  await estate.as("manager", "createProject", own)
})
afterEach(() => estate.close())

const named = { applicationId: "a1", projectId: "px" }
const frontChannelLogout = { uri: "https://shop.example.com/bye", sessionRequired: true }
const minute = durationFromMs(60_000)

const made = (value: object) =>
  estate.as("manager", "createApplication", {
    ...named,
    name: "Shop",
    applicationType: {
      case: "oidcConfiguration",
      value: { redirectUris: ["https://shop.example.com/callback"], ...value },
    },
  })
const changed = (value: object) => {
  const applicationType = { case: "oidcConfiguration", value }
  return estate.as("manager", "updateApplication", { ...named, applicationType })
}
const shown = async () =>
  (await estate.as("manager", "getApplication", { applicationId: "a1" })).application.configuration
    .value

test("what an application says of its tokens is kept, shown, and replaced as a whole", async () => {
  const tokenSettings = { accessTokenLifetime: minute, refreshTokenGrace: durationFromMs(0) }
  await made({ tokenSettings, frontChannelLogout })
  const before = await shown()
  expect(before).toMatchObject({ tokenSettings, frontChannelLogout })
  expect(before.tokenSettings.idTokenLifetime).toBeUndefined()

  await changed({ tokenSettings: { idTokenLifetime: minute } })
  const after = await shown()
  expect(after.tokenSettings).toMatchObject({ idTokenLifetime: minute })
  expect(after.tokenSettings.accessTokenLifetime).toBeUndefined()
  expect(after).toMatchObject({ frontChannelLogout })
})

test("whether PKCE is required is kept, and set back to what the organization states", async () => {
  await made({})
  const head = estate.store.log.durable()
  await changed({ pkce: 0 })
  expect(estate.store.log.durable()).toBe(head)
  expect(await shown()).toMatchObject({ pkce: 0 })
  await changed({ pkce: 1 })
  await changed({ developmentMode: true })
  expect(await shown()).toMatchObject({ pkce: 1 })
  await changed({ pkce: 0 })
  expect(await shown()).toMatchObject({ pkce: 0 })
})

test("an organization keeps the defaults of its applications, and its name", async () => {
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

test("the typ of JWT access tokens is kept and shown; other texts are refused", async () => {
  await made({ tokenSettings: { accessTokenJwtType: "JWT" } })
  expect((await shown()).tokenSettings).toMatchObject({ accessTokenJwtType: "JWT" })
  await changed({ tokenSettings: {} })
  expect((await shown()).tokenSettings.accessTokenJwtType).toBeUndefined()
  await expect(changed({ tokenSettings: { accessTokenJwtType: "jwt" } })).rejects.toMatchObject({
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

test("without a word nothing is shown, and another change says nothing of it", async () => {
  await made({})
  await changed({ developmentMode: true })
  const { tokenSettings, frontChannelLogout: logout } = await shown()
  expect([tokenSettings, logout]).toEqual([undefined, undefined])
})

test.each([
  "https://other.example.com/bye",
  "https://shop.example.com:8443/bye",
  "http://shop.example.com/bye",
  "javascript:alert(1)",
  "https://shop.example.com/bye#there",
])("%s is no page that is loaded when a session ends", async (uri) => {
  await made({ frontChannelLogout })
  await expect(changed({ frontChannelLogout: { uri } })).rejects.toMatchObject({
    code: "invalid_argument",
  })
  expect(await shown()).toMatchObject({ frontChannelLogout })
})

test("the page goes where its address is taken away", async () => {
  await made({ frontChannelLogout })
  await changed({ frontChannelLogout: {} })
  expect((await shown()).frontChannelLogout).toMatchObject({ uri: "" })
})

test("how requests must come is kept, shown, and replaced as a whole", async () => {
  await made({ requestRules: { pushedRequired: true } })
  expect((await shown()).requestRules).toMatchObject({
    pushedRequired: true,
    signedRequired: false,
  })
  await changed({ developmentMode: true })
  expect((await shown()).requestRules).toMatchObject({ pushedRequired: true })
  await changed({ requestRules: { signedRequired: true, authMethodRequired: true } })
  expect((await shown()).requestRules).toMatchObject({
    pushedRequired: false,
    signedRequired: true,
    authMethodRequired: true,
  })
})
