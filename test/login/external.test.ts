// Signing in with an identity provider: the redirect there and back, in simulated browsers.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { addOtp } from "../../src/domain/factor/otp.ts"
import { createIdp, linkIdp, removeIdp, updateIdp } from "../../src/domain/idp/commands.ts"
import { failIntent, findIdpById, type Options, startIntent } from "../../src/domain/idp/index.ts"
import { intent } from "../../src/domain/idp/intent/model.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { addPolicy, changePolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { lockUser } from "../../src/domain/user/index.ts"
import { findLinkedUser, listUsableLinks } from "../../src/domain/user-link/commands.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { linksOf } from "../../src/domain/user-model/links.ts"
import { user } from "../../src/domain/user-model/model.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  password,
  responseOf,
  type VisitedPage,
} from "../oauth/provider.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../support/upstream.ts"

let provider: Provider
let client: NewClient
let upstream: Upstream
let idpId: string
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  upstream = await openUpstream()
  idpId = await addProvider()
})
afterEach(() => provider.close())

const allOptions: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: true,
  autoLinking: "email",
  isTrustedForAddresses: true,
}
const oidc: Settings = {
  kind: "oidc",
  issuer: upstreamIssuer,
  clientId: "client",
  scopes: [],
  isIdTokenMapping: false,
  usePkce: true,
}

const github: Settings = { kind: "github", clientId: "client", scopes: [] }

async function addProvider(more: { settings?: Settings; options?: Partial<Options> } = {}) {
  const { settings = oidc, options } = more
  const wish = { name: "Acme", settings, options: { ...allOptions, ...options }, secret: "s3cret" }
  const { id } = await createIdp(provider.cx(), undefined, wish)
  await linkIdp(provider.cx(), undefined, id)
  return id
}

const ada = {
  sub: "ada-1",
  preferred_username: "ada",
  given_name: "Ada",
  family_name: "Lovelace",
  email: "ada@example.com",
  email_verified: true,
}

/** A browser whose requests can reach the provider. */
const newBrowser = () =>
  browserOf({
    send: (path, init) => provider.send(path, init, { outside: upstream.outside }),
  })
type Browser = ReturnType<typeof newBrowser>

/** Starts the sign-in with the provider; returns the URL there. */
async function goToProvider(browser: Browser, path = authorizePath(client.id)): Promise<string> {
  const first = await browser.go(path)
  expect(first.page).toContain("Sign in with Acme")
  return chooseProvider(browser, first)
}

async function chooseProvider(browser: Browser, at: VisitedPage, id = idpId): Promise<string> {
  const hrefs = [...at.page.matchAll(/href="([^"]*externalidp[^"]*)"/g)]
  const href = hrefs.map(([, each = ""]) => each.replaceAll("&amp;", "&"))
  const there = await browser.go(href.find((each) => each.includes(id)) ?? "/none")
  expect(there.response.status).toBe(303)
  return there.path
}

async function signIn(claims: object = ada, browser = newBrowser()): Promise<VisitedPage> {
  const authUrl = await goToProvider(browser)
  return browser.go(upstream.signIn(authUrl, { ...claims }))
}

const userNamed = (name: string) => findByLoginName(provider.cx(), name) ?? ""
const listLinks = (name: string) =>
  linksOf(provider.cx().store.state(provider.cx(), user, userNamed(name)))

describe("a new user", () => {
  test("gets an account, and is signed in to the application", async () => {
    expect(responseOf(await signIn())).toHaveProperty("code")
    const state = provider.cx().store.state(provider.cx(), user, userNamed("ada"))
    expect(state).toMatchObject({
      profile: { givenName: "Ada", familyName: "Lovelace" },
      email: { address: "ada@example.com", verified: true },
    })
    expect(listLinks("ada")).toMatchObject([{ idpId, externalId: "ada-1", name: "ada" }])
  })

  test("returns to the same account, whose profile is updated", async () => {
    await signIn()
    const again = { ...ada, family_name: "Byron", email: "new@example.com" }
    expect(responseOf(await signIn(again))).toHaveProperty("code")
    const state = provider.cx().store.state(provider.cx(), user, userNamed("ada"))
    expect(state).toMatchObject({
      profile: { givenName: "Ada", familyName: "Byron" },
      email: { address: "new@example.com", verified: true },
    })
  })

  test("gets the phone number verified by the provider, unless codes go to another", async () => {
    const number = async (phone_number: string, more: object = {}) => {
      await signIn({ ...ada, phone_number, phone_number_verified: true, ...more })
      const state = provider.cx().store.state(provider.cx(), user, userNamed("ada"))
      return "phone" in state ? [state.phone?.number, state.phone?.verified] : undefined
    }
    const unsure = { phone_number_verified: false }
    expect(await number("+41 79 111 22 33", unsure)).toEqual(["+41791112233", false])
    expect(await number("+41791112244")).toEqual(["+41791112244", true])
    for (const said of ["079 111 22 55", ""]) {
      expect(await number(said)).toEqual(["+41791112244", true])
    }
    expect(await number("+41791112255", unsure)).toEqual(["+41791112244", true])
    await addOtp(provider.cx(), userNamed("ada"), "sms")
    expect(await number("+41791112266")).toEqual(["+41791112244", true])
  })

  test("is unknown while the provider points to another issuer", async () => {
    await signIn()
    const linked = () => findLinkedUser(provider.cx(), { idpId, externalId: ada.sub })
    const userId = linked()
    expect(userId).toBeDefined()
    const wish = { name: "Acme", options: allOptions, secret: "s3cret" }
    const turn = (issuer: string) =>
      updateIdp(provider.cx(), undefined, idpId, { ...wish, settings: { ...oidc, issuer } })
    await turn("https://evil.example.com")
    expect(linked()).toBeUndefined()
    expect(listUsableLinks(provider.cx(), `${userId}`)).toEqual([])
    await turn(upstreamIssuer)
    expect(linked()).toBe(userId)
  })

  test("enters what the provider doesn't send", async () => {
    const { family_name: _, ...short } = ada
    const browser = newBrowser()
    const asked = await signIn(short, browser)
    expect(asked.page).toContain("I&#x27;m new here")
    const fields = { choice: "create", givenName: "Ada", familyName: "Lovelace", userName: "ada" }
    const create = { ...asked, page: asked.page.slice(asked.page.indexOf("I&#x27;m new here")) }
    const end = await browser.post(create, { ...fields, email: "other@example.com" })
    expect(responseOf(end)).toHaveProperty("code")
    const state = provider.cx().store.state(provider.cx(), user, userNamed("ada"))
    // The address was entered by the user, so it is not verified.
    expect(state).toMatchObject({ email: { address: "other@example.com", verified: false } })
  })
})

test("externalLoginCheckLifetime limits the validity for other applications", async () => {
  const say = () => ({ externalLoginCheckLifetime: 60 })
  await changePolicy(provider.cx(), undefined, { policy: login, apply: say })
  const browser = newBrowser()
  await signIn(ada, browser)
  provider.clock.advance(60_000)
  expect(responseOf(await browser.go(authorizePath(client.id)))).toHaveProperty("code")
  provider.clock.advance(1)
  const asked = await browser.go(authorizePath(client.id))
  expect(asked.response.status).toBe(200)
  expect(asked.page).toContain("current-password")
})

describe("a user with an existing account", () => {
  beforeEach(async () => {
    await provider.addPerson("ada")
  })
  const same = { ...ada, email: "ada@example.org" }

  test("is not linked to an account that another organization prepared", async () => {
    const cx = provider.cx()
    await createOrganization(cx, "other", { name: "Other" })
    const boss = { kind: "user", userId: "boss", orgId: "other", clientId: "console" } as const
    await createUser(provider.cx({ caller: boss }), "prepared", {
      kind: "human",
      orgId: "other",
      userName: "prepared",
      profile: { givenName: "Ida", familyName: "L" },
      email: { value: "ida@example.com", verified: true },
    })
    const claims = { ...ada, sub: "ida-1", preferred_username: "ida", email: "ida@example.com" }
    expect(responseOf(await signIn(claims))).toHaveProperty("code")
    expect(listLinks("prepared")).toEqual([])
    expect(listLinks("ida")).toHaveLength(1)
  })

  test("is linked automatically if both sides have verified the address", async () => {
    expect(responseOf(await signIn(same))).toHaveProperty("code")
    expect(listLinks("ada")).toHaveLength(1)
  })

  test("must prove the account first if the provider is not trusted for addresses", async () => {
    const options = { ...allOptions, isTrustedForAddresses: false }
    const wish = { name: "Acme", settings: oidc, options, secret: "s3cret" }
    await updateIdp(provider.cx(), undefined, idpId, wish)
    const browser = newBrowser()
    const asked = await signIn(same, browser)
    expect(asked.page).toContain("I already have an account")
    expect(listLinks("ada")).toHaveLength(0)
    const end = await browser.post(asked, { choice: "link", loginName: "ada", password })
    expect(responseOf(end)).toHaveProperty("code")
    // The existing link signs in from now on.
    expect(responseOf(await signIn(same))).toHaveProperty("code")
    expect(listLinks("ada")).toHaveLength(1)
  })

  test("is linked by an organization's own provider, among its users only", async () => {
    const cx = provider.cx()
    await removeIdp(cx, undefined, idpId)
    await addPolicy(cx, provider.setup.orgId, { policy: login, apply: () => ({}) })
    const options = { ...allOptions, isTrustedForAddresses: false }
    const wish = { name: "Acme", settings: oidc, options, secret: "s3cret" }
    idpId = (await createIdp(cx, provider.setup.orgId, wish)).id
    await linkIdp(cx, provider.setup.orgId, idpId)
    const scope = `openid urn:core:iam:org:id:${provider.setup.orgId}`
    const browser = newBrowser()
    const authUrl = await goToProvider(browser, authorizePath(client.id, { scope }))
    const end = await browser.go(upstream.signIn(authUrl, { ...same }))
    expect(responseOf(end)).toHaveProperty("code")
    expect(listLinks("ada")).toMatchObject([{ idpId }])
  })

  test("is asked if the provider has not verified the address, and enters a password", async () => {
    const browser = newBrowser()
    const asked = await signIn({ ...same, email_verified: false }, browser)
    expect(asked.page).toContain("I already have an account")
    const link = { choice: "link", loginName: "ada" }
    const wrong = await browser.post(asked, { ...link, password: "Wrong-Horse-7" })
    expect(wrong.response.status).toBe(422)
    expect(listLinks("ada")).toHaveLength(0)
    const end = await browser.post(wrong, { ...link, password })
    expect(responseOf(end)).toHaveProperty("code")
    expect(listLinks("ada")).toHaveLength(1)
  })

  test("leaves none of the provider's data behind", async () => {
    await signIn(same)
    const { log } = provider.cx().store
    const types = ["idpintent.started", "idpintent.succeeded", "idpintent.consumed"]
    const { events } = await log.find(0, 1000, types)
    expect(events.map(({ type }) => type)).toEqual(types)
    expect(events.map((each) => JSON.stringify(each.private))).not.toContain("ada")
    expect(events[0]?.private).toBeNull()
  })

  test("starts without the custom login page's return URL in the event", async () => {
    const cx = provider.cx()
    const back = {
      successUrl: "https://a.example.com/s?k=1",
      failureUrl: "https://a.example.com/f",
    }
    const who = { idpId, agentId: "", requestId: "", creatorId: "c" }
    const before = { type: "idpintent.started", data: { ...who, ...back }, private: null }
    await cx.store.transact(cx, (tx) => tx.append(intent, "before", [before]))
    expect(cx.store.state(cx, intent, "before")).toMatchObject({ ...who, ...back })

    const found = findIdpById(cx, await addProvider({ settings: github }))
    if (!found) throw new Error("no message provider is configured")
    const { id } = await startIntent(cx, found, { ...who, ...back })
    expect(cx.store.state(cx, intent, id)).toMatchObject(back)
    const { events } = await cx.store.log.find(0, 1000, ["idpintent.started"])
    const started = events.find((each) => each.id === id)
    expect(JSON.stringify(started?.data)).not.toContain("a.example.com")
    expect(started?.private).toMatchObject(back)
    await failIntent(cx, id, "gone")
    expect(cx.store.state(cx, intent, id)).not.toHaveProperty("successUrl")
  })

  test("is rejected when locked, and not linked by that", async () => {
    await lockUser(provider.cx(), userNamed("ada"))
    const end = await signIn(same)
    expect(end.response.status).toBe(403)
    expect(end.page).toContain("locked")
    expect(listLinks("ada")).toHaveLength(0)
  })

  test("is not linked automatically as an administrator", async () => {
    const asked = await signIn({ ...ada, sub: "olga-1", email: "olga@example.com" })
    expect(asked.page).toContain("I already have an account")
    expect(listLinks("olga")).toHaveLength(0)
  })
})

test("a user who can neither link nor register sees the reason", async () => {
  const nothing = { isLinkingAllowed: false, isCreationAllowed: false }
  idpId = await addProvider({ options: nothing })
  const end = await signIn()
  expect(end.response.status).toBe(403)
  expect(end.page).toContain("No account found")
})

describe("an error at the provider has its own page", () => {
  const walk = async (lies: Upstream["overrides"]) => {
    const browser = newBrowser()
    const authUrl = await goToProvider(browser)
    upstream.overrides = lies
    const end = await browser.go(upstream.signIn(authUrl, ada))
    return [end.response.status, /<h1[^>]*>([^<]*)/.exec(end.page)?.[1]]
  }
  const refused = [400, "Invalid response from the other service"]

  test.each([
    ["a token of another issuer", { idToken: { iss: "https://evil.example.com" } }, refused],
    ["a token for somebody else", { idToken: { aud: "other" } }, refused],
    ["a token that was issued to another client", { idToken: { azp: "other" } }, refused],
    ["a token of another sign-in", { idToken: { nonce: "other" } }, refused],
    ["a token that is over", { idToken: { exp: 1_700_000_000 } }, refused],
    ["a token signed with another key", { foreignKey: true }, refused],
    ["a profile of somebody else", { userinfo: { sub: "eve" } }, refused],
    ["no JSON", { status: 200, body: "<html>" }, refused],
    ["an error", { status: 500, body: "{}" }, refused],
  ] as const)("%s", async (_, lies, page) => {
    expect(await walk(lies)).toEqual(page)
    expect(userNamed("ada")).toBe("")
  })

  test("a discovery document of another issuer", async () => {
    upstream.overrides = { discovery: { issuer: "https://evil.example.com" } }
    const browser = newBrowser()
    const first = await browser.go(authorizePath(client.id))
    const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
    const end = await browser.go(href.replaceAll("&amp;", "&"))
    expect(end.page).toContain("Invalid response from the other service")
  })

  test("an unreachable provider", async () => {
    const first = await browserOf(provider).go(authorizePath(client.id))
    const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
    const browser = browserOf({
      send: (path, init) =>
        provider.send(path, init, {
          outside: { ...upstream.outside, send: () => Promise.reject(new Error("down")) },
        }),
    })
    const mine = await browser.go(authorizePath(client.id))
    const own = /href="([^"]*externalidp[^"]*)"/.exec(mine.page)?.[1] ?? href
    const end = await browser.go(own.replaceAll("&amp;", "&"))
    expect([end.response.status, end.page.includes("is unavailable")]).toEqual([503, true])
  })

  test("a user who has canceled", async () => {
    const browser = newBrowser()
    const { searchParams } = new URL(await goToProvider(browser))
    const state = searchParams.get("state") ?? ""
    const iss = encodeURIComponent(upstreamIssuer)
    const end = await browser.go(`/idps/callback?error=access_denied&state=${state}&iss=${iss}`)
    expect(end.page).toContain("Sign-in canceled")
  })
})

describe("an attack is rejected:", () => {
  test("a state injected from another browser", async () => {
    const authUrl = await goToProvider(newBrowser())
    const victim = newBrowser()
    await victim.go(authorizePath(client.id))
    const end = await victim.go(upstream.signIn(authUrl, ada))
    expect(end.response.status).toBe(403)
    expect(userNamed("ada")).toBe("")
  })

  test("a response that is used twice", async () => {
    const browser = newBrowser()
    const back = upstream.signIn(await goToProvider(browser), ada)
    await browser.go(back)
    const again = await browser.go(back)
    expect(again.page).toContain("expired")
  })

  test("a code of another sign-in with another verifier", async () => {
    const browser = newBrowser()
    const theirs = new URL(upstream.signIn(await goToProvider(newBrowser()), ada), upstreamIssuer)
    const own = new URL(upstream.signIn(await goToProvider(browser), ada), upstreamIssuer)
    own.searchParams.set("code", theirs.searchParams.get("code") ?? "")
    const end = await browser.go(own.pathname + own.search)
    expect(end.page).toContain("Invalid response from the other service")
  })

  test("a response whose iss is another issuer", async () => {
    const browser = newBrowser()
    const back = new URL(upstream.signIn(await goToProvider(browser), ada), upstreamIssuer)
    back.searchParams.set("iss", "https://evil.example.com")
    const end = await browser.go(back.pathname + back.search)
    expect(end.page).toContain("Invalid response from the other service")
  })

  test("a response at the callback of another provider", async () => {
    const browser = newBrowser()
    const back = new URL(upstream.signIn(await goToProvider(browser), ada), upstreamIssuer)
    const end = await browser.go(`/idps/${idpId}/callback${back.search}`)
    expect(end.page).toContain("expired")
  })

  test("an intent after ten minutes", async () => {
    const browser = newBrowser()
    const back = upstream.signIn(await goToProvider(browser), ada)
    provider.clock.advance(10 * 60_000)
    const end = await browser.go(back)
    expect(end.page).toContain("expired")
  })
})
