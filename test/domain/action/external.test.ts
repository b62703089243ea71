// What scripts make of people who come from a provider.
import { afterEach, beforeEach, expect, test } from "vitest"
import { rolesHeld } from "../../../src/domain/authorization/index.ts"
import { createOrganization } from "../../../src/domain/org/commands.ts"
import { createProject } from "../../../src/domain/project/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { profile } from "../../../src/domain/user-lookup/query.ts"
import { answerOf, type Provider } from "../../oauth/provider.ts"
import { type Arrivals, ada, openArrivals } from "./arrivals.ts"
import { bind, testAllUsed } from "./bound.ts"

let arrivals: Arrivals
let provider: Provider
beforeEach(async () => {
  arrivals = await openArrivals()
  provider = arrivals.provider
})
afterEach(() => provider.close())

const signIn = (claims?: object) => arrivals.signIn(claims)
const here = () => arrivals.here()
const noted = (key: string) => arrivals.noted(key)

const bound = (triggerType: 1 | 2 | 3, body: string) =>
  bind(provider, {
    flowType: 1,
    triggerType,
    scripts: [`function f${triggerType}(ctx, api) { const { v1 } = ctx; ${body} }`],
  })

test("a script says otherwise what a provider says, sees it, and notes what it wants", async () => {
  await bound(
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
  expect(answerOf(await signIn())).toHaveProperty("code")
  expect(profile(provider.cx(), here())).toMatchObject({
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
  expect(noted("seen")).toEqual([
    "ada-1",
    "ada@example.com",
    "none",
    "ada-1",
    "ada-1",
    "string",
    3,
    arrivals.client.id,
    true,
    "GET",
  ])
  expect(noted("older")).toEqual({ n: 1 })
})

test("names that a script sets follow a sign-in, though the provider sends one name", async () => {
  await signIn()
  await bound(1, 'api.setFirstName("Augusta")')
  await signIn({ ...ada, given_name: undefined, family_name: undefined, name: "Ada Lovelace" })
  expect(profile(provider.cx(), here())).toMatchObject({ givenName: "Augusta" })
})

const elsewhere = `api.setEmail("king@example.com"); api.setPhone("+41791234567")`
const proved = `api.setEmailVerified(true); api.setPhoneVerified(true)`

test.each([
  ["which is theirs where it says that", `${elsewhere}; ${proved}`, true],
  ["of which the provider has not said that it is theirs", elsewhere, false],
])("one says otherwise how they are reached, %s", async (_, body, verified) => {
  await bound(1, body)
  await signIn({ ...ada, phone_number: "+41791112233", phone_number_verified: true })
  expect(profile(provider.cx(), here())).toMatchObject({
    email: "king@example.com",
    emailVerified: verified,
    phone: "+41791234567",
    phoneVerified: verified,
  })
})

test("one that says a number which is none has failed", async () => {
  await bound(1, `api.setPhone("079 123 45 67")`)
  const at = await signIn()
  const said = at.page.includes("a script of the organisation has failed")
  expect([at.response.status, said, here()]).toEqual([403, true, ""])
})

test("it may say which address is whose, but only to its own organisation", async () => {
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
  await bound(1, `api.setEmail("victim@example.com"); api.setEmailVerified(true)`)
  await signIn()
  expect(here()).not.toBe(victim)
})

test("one keeps people out, in its own words", async () => {
  await bound(
    1,
    `if (v1.externalUser().human.email.endsWith("example.com")) throw "Not from there"`,
  )
  const at = await signIn()
  expect([at.response.status, at.page.includes("Not from there")]).toEqual([403, true])
  expect(findByLoginName(provider.cx(), "ada")).toBeUndefined()
})

test("who is linked as they come is kept out by their own organisation's, each time", async () => {
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
  await bind(provider, { flowType: 1, triggerType: 1, scripts: [script], orgId: "org2" })
  const kept = await signIn()
  expect([kept.response.status, kept.page.includes("Globex lets nobody in")]).toEqual([403, true])
  expect(here()).toBe("")
  expect(answerOf(await signIn({ ...ada, given_name: "Augusta" }))).toHaveProperty("code")
  expect([here(), noted("came")]).toEqual([person, "ada-1"])
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
])("before an account is made one says it otherwise: %s", async (setter, value, made) => {
  await bound(2, `api.${setter}(${JSON.stringify(value)})`)
  await signIn({ ...ada, phone_number: "+41791112233" })
  expect(profile(provider.cx(), here())).toMatchObject(made)
})

test("before and after an account is made others have their say", async () => {
  await createProject(provider.cx(), "other", { orgId: provider.setup.orgId, name: "Other" })
  await bound(
    2,
    `api.setNickName("new")
    api.v1.user.appendMetadata("made", [
      v1.user.username, v1.authRequest.applicationId, v1.httpRequest.method,
    ])
    api.metadata.push({ key: "older", value: 2 })`,
  )
  await bound(
    3,
    `api.userGrants.push({ projectId: "${provider.projectId}", roles: [] })
    api.v1.appendUserGrant({ projectId: "other", roles: [] })
    if (v1.getUser().human.nickName !== "new") throw "who is that?"
    if (v1.authRequest.applicationId !== "${arrivals.client.id}") throw "for what?"
    if (v1.httpRequest.method !== "GET") throw "by what?"`,
  )
  expect(answerOf(await signIn())).toHaveProperty("code")
  expect(profile(provider.cx(), here())).toMatchObject({ nickName: "new" })
  expect(noted("made")).toEqual(["ada", arrivals.client.id, "GET"])
  expect(noted("older")).toBe(2)
  for (const projectId of [provider.projectId, "other"]) {
    expect(rolesHeld(provider.cx(), here(), projectId)).toHaveLength(1)
  }
})

testAllUsed(1)
