// How scripts change users from an identity provider.
import { afterEach, beforeEach, expect, test } from "vitest"
import { listRolesByOrg } from "../../../src/domain/authorization/index.ts"
import { createOrganization } from "../../../src/domain/org/commands.ts"
import { createProject } from "../../../src/domain/project/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { findProfile } from "../../../src/domain/user-lookup/query.ts"
import { type Provider, responseOf } from "../../oauth/provider.ts"
import { ada, type ExternalSignIns, openExternalSignIns } from "./arrivals.ts"
import { bindScripts, testAllUsed } from "./bound.ts"

let externalSignIns: ExternalSignIns
let provider: Provider
beforeEach(async () => {
  externalSignIns = await openExternalSignIns()
  provider = externalSignIns.provider
})
afterEach(() => provider.close())

const signIn = (claims?: object) => externalSignIns.signIn(claims)
const currentUserId = () => externalSignIns.here()
const metadataValue = (key: string) => externalSignIns.noted(key)

const bindScript = (triggerType: 1 | 2 | 3, body: string) =>
  bindScripts(provider, {
    flowType: 1,
    triggerType,
    scripts: [`function f${triggerType}(ctx, api) { const { v1 } = ctx; ${body} }`],
  })

test("a script reads and changes the provider's values, and sets metadata", async () => {
  await bindScript(
    1,
    `api.setFirstName(ctx.getClaim("given_name").toUpperCase())
    api.setLastName("L.")
    api.setNickName("A")
    api.setDisplayName("Ada L.")
    api.setPreferredLanguage("fr")
    api.setPreferredUsername("lovelace")
    api.setPhone("+41791234567")
    api.setPhoneVerified(true)
    api.v1.user.appendMetadata("seen", [
      v1.externalUser().externalId, v1.externalUser().human.email, v1.authError,
      JSON.parse(ctx.claimsJSON()).sub, v1.providerInfo.sub, typeof ctx.accessToken,
      ctx.idToken.split(".").length, v1.authRequest.applicationId,
      ctx.getClaim("toString") === undefined, v1.httpRequest.method,
    ])
    api.metadata.push({ key: "older", value: { n: 1 } })`,
  )
  expect(responseOf(await signIn())).toHaveProperty("code")
  expect(findProfile(provider.cx(), currentUserId())).toMatchObject({
    userName: "lovelace",
    givenName: "ADA",
    familyName: "L.",
    nickName: "A",
    name: "Ada L.",
    preferredLanguage: "fr",
    email: "ada@example.com",
    emailVerified: true,
    phone: "+41791234567",
    phoneVerified: true,
  })
  expect(metadataValue("seen")).toEqual([
    "ada-1",
    "ada@example.com",
    "none",
    "ada-1",
    "ada-1",
    "string",
    3,
    externalSignIns.client.id,
    true,
    "GET",
  ])
  expect(metadataValue("older")).toEqual({ n: 1 })
})

test("names that a script sets apply to each sign-in, although the provider sends one name", async () => {
  await signIn()
  await bindScript(1, 'api.setFirstName("Augusta")')
  await signIn({ ...ada, given_name: undefined, family_name: undefined, name: "Ada Lovelace" })
  expect(findProfile(provider.cx(), currentUserId())).toMatchObject({ givenName: "Augusta" })
})

const setAddresses = `api.setEmail("king@example.com"); api.setPhone("+41791234567")`
const setVerified = `api.setEmailVerified(true); api.setPhoneVerified(true)`

test.each([
  ["which is theirs where it says that", `${setAddresses}; ${setVerified}`, true],
  ["of which the provider has not said that it is theirs", setAddresses, false],
])("a script changes the addresses, %s", async (_, body, verified) => {
  await bindScript(1, body)
  await signIn({ ...ada, phone_number: "+41791112233", phone_number_verified: true })
  expect(findProfile(provider.cx(), currentUserId())).toMatchObject({
    email: "king@example.com",
    emailVerified: verified,
    phone: "+41791234567",
    phoneVerified: verified,
  })
})

test("a script that sets an invalid number fails", async () => {
  await bindScript(1, `api.setPhone("079 123 45 67")`)
  const at = await signIn()
  const said = at.page.includes("a script of the organization failed")
  expect([at.response.status, said, currentUserId()]).toEqual([403, true, ""])
})

test("a script can verify addresses, but only for its own organization", async () => {
  const cx = provider.cx()
  await createOrganization(cx, "org2", { name: "Globex" })
  const victim = cx.ids.next()
  await createUser(cx, victim, {
    kind: "human",
    orgId: "org2",
    userName: "victim",
    profile: { givenName: "Vic", familyName: "Tim" },
    email: { value: "victim@example.com", verified: true },
  })
  await bindScript(1, `api.setEmail("victim@example.com"); api.setEmailVerified(true)`)
  await signIn()
  expect(currentUserId()).not.toBe(victim)
})

test("a script rejects a sign-in with its own message", async () => {
  await bindScript(
    1,
    `if (v1.externalUser().human.email.endsWith("example.com")) throw "Not from there"`,
  )
  const at = await signIn()
  expect([at.response.status, at.page.includes("Not from there")]).toEqual([403, true])
  expect(findByLoginName(provider.cx(), "ada")).toBeUndefined()
})

test("the scripts of the user's own organization run for each sign-in of a linked user", async () => {
  const cx = provider.cx()
  await createOrganization(cx, "org2", { name: "Globex" })
  const person = cx.ids.next()
  await createUser(cx, person, {
    kind: "human",
    orgId: "org2",
    userName: "ada",
    profile: { givenName: "Ada", familyName: "Lovelace" },
    email: { value: ada.email, verified: true },
  })
  const script = `function f1({ v1 }, api) {
    api.v1.user.appendMetadata("came", v1.externalUser().externalId)
    if (v1.externalUser().human.firstName === "Ada") throw "Globex lets nobody in"
  }`
  await bindScripts(provider, { flowType: 1, triggerType: 1, scripts: [script], orgId: "org2" })
  const kept = await signIn()
  expect([kept.response.status, kept.page.includes("Globex lets nobody in")]).toEqual([403, true])
  expect(currentUserId()).toBe("")
  expect(responseOf(await signIn({ ...ada, given_name: "Augusta" }))).toHaveProperty("code")
  expect([currentUserId(), metadataValue("came")]).toEqual([person, "ada-1"])
  expect((await signIn()).response.status).toBe(403)
})

test.each([
  ["setFirstName", "Augusta", { givenName: "Augusta", name: "Augusta Lovelace" }],
  ["setLastName", "King", { familyName: "King", name: "Ada King" }],
  ["setNickName", "A", { nickName: "A" }],
  ["setDisplayName", "Countess", { name: "Countess" }],
  ["setPreferredLanguage", "fr", { preferredLanguage: "fr" }],
  ["setGender", 1, { gender: "female" }],
  ["setUsername", "countess", { userName: "countess" }],
  ["setEmail", "king@example.com", { email: "king@example.com", emailVerified: false }],
  ["setEmailVerified", false, { email: ada.email, emailVerified: false }],
  ["setPhone", "+41791234567", { phone: "+41791234567", phoneVerified: false }],
  ["setPhone", "", { phone: "" }],
  ["setPhoneVerified", true, { phone: "+41791112233", phoneVerified: true }],
])("a script changes an account before it is created: %s", async (setter, value, created) => {
  await bindScript(2, `api.${setter}(${JSON.stringify(value)})`)
  await signIn({ ...ada, phone_number: "+41791112233" })
  expect(findProfile(provider.cx(), currentUserId())).toMatchObject(created)
})

test("scripts run before and after an account is created", async () => {
  await createProject(provider.cx(), "other", { orgId: provider.setup.orgId, name: "Other" })
  await bindScript(
    2,
    `api.setNickName("new")
    api.v1.user.appendMetadata("made", [
      v1.user.username, v1.authRequest.applicationId, v1.httpRequest.method,
    ])
    api.metadata.push({ key: "older", value: 2 })`,
  )
  await bindScript(
    3,
    `api.userGrants.push({ projectId: "${provider.projectId}", roles: [] })
    api.v1.appendUserGrant({ projectId: "other", roles: [] })
    if (v1.getUser().human.nickName !== "new") throw "who is that?"
    if (v1.authRequest.applicationId !== "${externalSignIns.client.id}") throw "for what?"
    if (v1.httpRequest.method !== "GET") throw "by what?"`,
  )
  expect(responseOf(await signIn())).toHaveProperty("code")
  expect(findProfile(provider.cx(), currentUserId())).toMatchObject({ nickName: "new" })
  expect(metadataValue("made")).toEqual(["ada", externalSignIns.client.id, "GET"])
  expect(metadataValue("older")).toBe(2)
  for (const projectId of [provider.projectId, "other"]) {
    expect(listRolesByOrg(provider.cx(), currentUserId(), projectId)).toHaveLength(1)
  }
})

testAllUsed(1)
