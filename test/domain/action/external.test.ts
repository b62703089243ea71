// What scripts make of people who come from a provider.
import { afterEach, beforeEach, expect, test } from "vitest"
import { rolesHeld } from "../../../src/domain/authorization/index.ts"
import { addIdp, linkIdp } from "../../../src/domain/idp/commands.ts"
import { createOrganization } from "../../../src/domain/org/index.ts"
import {
  createUser,
  findByLoginName,
  heldMetadata,
  linkedUser,
  profile,
} from "../../../src/domain/user/index.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
} from "../../oauth/provider.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../../support/upstream.ts"
import { bind } from "./bound.ts"

let provider: Provider
let client: NewClient
let upstream: Upstream
let idpId: string
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  upstream = await openUpstream()
  const { id } = await addIdp(provider.cx(), undefined, {
    name: "Acme",
    secret: "s3cret",
    settings: {
      ...{ kind: "oidc", issuer: upstreamIssuer, clientId: "client", scopes: [] },
      ...{ isIdTokenMapping: false, usePkce: true },
    },
    options: {
      ...{ isLinkingAllowed: true, isCreationAllowed: true, isAutoCreation: true },
      ...{ isAutoUpdate: true, autoLinking: "email" },
    },
  })
  idpId = id
  await linkIdp(provider.cx(), undefined, id)
})
afterEach(() => provider.close())

const ada = {
  ...{ sub: "ada-1", preferred_username: "ada", given_name: "Ada", family_name: "Lovelace" },
  ...{ email: "ada@example.com", email_verified: true },
}

const bound = (triggerType: 1 | 2 | 3, body: string) =>
  bind(provider, {
    ...{ flowType: 1, triggerType },
    scripts: [`function f${triggerType}(ctx, api) { const { v1 } = ctx; ${body} }`],
  })

async function signIn(claims: object = ada) {
  const browser = browserOf({
    send: (path, init) => provider.send(path, init, { outside: upstream.outside }),
  })
  const first = await browser.go(authorizePath(client.id))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1]?.replaceAll("&amp;", "&")
  const there = await browser.go(href ?? "/none")
  return browser.go(upstream.signIn(there.path, { ...claims }))
}

const here = () => linkedUser(provider.cx(), { idpId, externalId: "ada-1" }) ?? ""
const noted = (key: string) => {
  const value = heldMetadata(provider.cx(), here()).get(key)
  return value && JSON.parse(Buffer.from(value).toString())
}

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
    ...{ userName: "lovelace", givenName: "ADA", familyName: "L.", nickName: "A", name: "Ada L." },
    ...{ preferredLanguage: "fr", email: "ada@example.com", emailVerified: true },
  })
  expect(noted("seen")).toEqual([
    ...["ada-1", "ada@example.com", "none", "ada-1", "ada-1", "string", 3, client.id, true, "GET"],
  ])
  expect(noted("older")).toEqual({ n: 1 })
})

test("it may say which address is whose, but only to its own organisation", async () => {
  const cx = provider.cx()
  await createOrganization(cx, "org2", { name: "Globex" })
  const victim = cx.ids.next()
  await createUser(cx, victim, {
    ...{ kind: "human", orgId: "org2", userName: "victim" },
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

test("before and after an account is made others have their say", async () => {
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
    if (v1.getUser().human.nickName !== "new") throw "who is that?"
    if (v1.authRequest.applicationId !== "${client.id}") throw "for what?"
    if (v1.httpRequest.method !== "GET") throw "by what?"`,
  )
  expect(answerOf(await signIn())).toHaveProperty("code")
  expect(profile(provider.cx(), here())).toMatchObject({ nickName: "new" })
  expect(noted("made")).toEqual(["ada", client.id, "GET"])
  expect(noted("older")).toBe(2)
  expect(rolesHeld(provider.cx(), here(), provider.projectId)).toHaveLength(1)
})
