// Linking an account of an identity provider on the account pages, in simulated browsers.
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { unlinkUser } from "../../src/domain/federation/link.ts"
import { linkableIdps, startLinking } from "../../src/domain/federation/linking.ts"
import { createIdp, linkIdp, unlinkIdp, updateIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { lockUser } from "../../src/domain/user/index.ts"
import { linksOf } from "../../src/domain/user-model/links.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { authorizePath, openProvider, type Provider, type VisitedPage } from "../oauth/provider.ts"
import {
  createAssertion,
  createResponse,
  idpMetadata,
  parseRedirect,
  signXml,
} from "../saml/identity-provider.ts"
import { createKey } from "../saml/service-provider.ts"
import { addSaml, type Browser, newBrowser, postResponse } from "../saml/upstream.ts"
import { directorySettings, openDirectory } from "../support/directory.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../support/upstream.ts"

const minute = 60_000
let provider: Provider
let clientId: string
let upstream: Upstream
let idpId: string
let pat: string
beforeEach(async () => {
  provider = await openProvider()
  clientId = (await provider.addClient()).id
  upstream = await openUpstream()
  idpId = await addProvider(oidc)
  pat = await provider.addPerson("pat")
})
afterEach(() => provider.close())

const allOptions: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: true,
  autoLinking: "off",
}
const oidc: Settings = {
  kind: "oidc",
  issuer: upstreamIssuer,
  clientId: "client",
  scopes: [],
  isIdTokenMapping: false,
  usePkce: true,
}

async function addProvider(settings: Settings, options = allOptions): Promise<string> {
  const wish = { name: "Acme", settings, options, secret: "s3cret" }
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

const listLinks = (id = pat) => linksOf(provider.cx().store.state(provider.cx(), user, id))
const openBrowser = (outside = upstream.outside) => newBrowser(provider, outside)
const listLinkableIds = () => linkableIdps(provider.cx(), pat).map(({ idp }) => idp.id)

/** A browser with a signed-in user. */
async function openSignedIn(name = "pat", outside = upstream.outside): Promise<Browser> {
  const browser = openBrowser(outside)
  await browser.signIn(authorizePath(clientId), name)
  return browser
}

/** The link that the account page receives. */
function createTicketUrl(id = idpId, userId = pat): string {
  const { pathname, search } = new URL(startLinking(provider.cx(), userId, id))
  return pathname + search
}

/** Visits the provider and returns; returns the page that shows both accounts. */
async function linkAtProvider(browser: Browser, claims: object = ada): Promise<VisitedPage> {
  const there = await browser.go(createTicketUrl())
  return browser.go(upstream.signIn(there.path, { ...claims }))
}

/** The last page of a sign-in with the provider. */
async function signInThroughProvider(browser: Browser, claims: object): Promise<VisitedPage> {
  const first = await browser.go(authorizePath(clientId))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  const there = await browser.go(href.replaceAll("&amp;", "&"))
  return browser.go(upstream.signIn(there.path, { ...claims }))
}

const titleOf = ({ page }: VisitedPage) => /<h1[^>]*>([^<]*)/.exec(page)?.[1]

describe("a signed-in user", () => {
  test("sees both accounts before the linking, then returns to the account page", async () => {
    const browser = await openSignedIn()
    const asked = await linkAtProvider(browser)
    expect(titleOf(asked)).toBe("Link this account?")
    expect(asked.page).toContain("ada@example.com")
    expect(asked.page).toContain("Pat Person")
    expect(listLinks()).toEqual([])
    const end = await browser.post(asked, {})
    expect(end.path).toBe("/ui/account/security")
    expect(listLinks()).toMatchObject([{ idpId, externalId: "ada-1", name: "ada" }])
    expect(listLinkableIds()).toEqual([])
  })

  test("signs in with it from then on", async () => {
    const browser = await openSignedIn()
    await browser.post(await linkAtProvider(browser), {})
    const end = await signInThroughProvider(openBrowser(), ada)
    expect(new URL(end.path).searchParams.has("code")).toBe(true)
  })

  test("is unknown after unlinking, and can link it again", async () => {
    const browser = await openSignedIn()
    await browser.post(await linkAtProvider(browser), {})
    await unlinkUser(provider.cx(), pat, { idpId, linkedUserId: ada.sub })
    expect([listLinks(), listLinkableIds()]).toEqual([[], [idpId]])
    const other = openBrowser()
    const { family_name: _, ...short } = ada
    const asked = await signInThroughProvider(other, short)
    expect(asked.page).toContain("No account here is linked to it yet")
    const again = await openSignedIn()
    await again.post(await linkAtProvider(again), {})
    expect(listLinks()).toMatchObject([{ idpId, externalId: "ada-1" }])
  })

  test("links an account of a directory by name and password", async () => {
    const there = {
      password: "Ada-secret-1",
      givenname: "Ada",
      sn: "L",
      mail: "a@b.example",
    }
    const { outside } = openDirectory({ ada: there })
    const id = await addProvider(directorySettings)
    const browser = await openSignedIn("pat", outside)
    const form = await browser.go(createTicketUrl(id))
    expect(form.page).toContain('<a href="/ui/account/security">Cancel</a>')
    const wrong = await browser.post(form, { loginName: "ada", password: "wrong" })
    expect(wrong.response.status).toBe(422)
    const asked = await browser.post(wrong, { loginName: "ada", password: "Ada-secret-1" })
    expect(titleOf(asked)).toBe("Link this account?")
    await browser.post(asked, {})
    expect(listLinks()).toMatchObject([{ idpId: id }])
  })

  test("links an account of an OAuth-only provider", async () => {
    const id = await addProvider({
      kind: "oauth",
      clientId: "client",
      scopes: [],
      idAttribute: "sub",
      usePkce: true,
      authorizationEndpoint: `${upstreamIssuer}/authorize`,
      tokenEndpoint: `${upstreamIssuer}/token`,
      userEndpoint: `${upstreamIssuer}/userinfo`,
    })
    const browser = await openSignedIn()
    const there = await browser.go(createTicketUrl(id))
    const asked = await browser.go(upstream.signIn(there.path, ada))
    expect(titleOf(asked)).toBe("Link this account?")
    await browser.post(asked, {})
    expect(listLinks()).toMatchObject([{ idpId: id, externalId: "ada-1" }])
  })

  test("links an account of a service that signs JWTs", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true })
    const jwk = { ...(await exportJWK(publicKey)), kid: "k1" }
    const send = async () => ({ status: 200, body: JSON.stringify({ keys: [jwk] }) })
    const id = await addProvider({
      kind: "jwt",
      issuer: upstreamIssuer,
      headerName: "x-user-token",
      jwtEndpoint: `${upstreamIssuer}/jwt`,
      keysEndpoint: `${upstreamIssuer}/keys`,
    })
    const browser = await openSignedIn("pat", { ...upstream.outside, send })
    const { searchParams } = new URL((await browser.go(createTicketUrl(id))).path)
    const token = await new SignJWT({ ...ada, iss: upstreamIssuer })
      .setProtectedHeader({ alg: "ES256", kid: "k1" })
      .setExpirationTime(new Date(provider.clock.now() + 5 * minute))
      .sign(privateKey)
    const asked = await browser.go(`/idps/jwt?${searchParams}`, {
      headers: { "x-user-token": token },
    })
    expect(titleOf(asked)).toBe("Link this account?")
    await browser.post(asked, {})
    expect(listLinks()).toMatchObject([{ idpId: id, externalId: "ada-1" }])
  })

  test("links an account of a SAML provider", async () => {
    const key = await createKey()
    const id = await addSaml(provider, idpMetadata([key]))
    const browser = await openSignedIn()
    const asked = parseRedirect((await browser.go(createTicketUrl(id))).path)
    const now = provider.clock.now()
    const xml = createResponse(asked, now, signXml(createAssertion(asked, now), { by: key }))
    const page = await postResponse(provider, browser, { xml, asked })
    expect(titleOf(page)).toBe("Link this account?")
    await browser.post(page, {})
    expect(listLinks()).toMatchObject([{ idpId: id }])
  })
})

describe("an account of another user", () => {
  test("is rejected with a page that says so, and stays linked", async () => {
    const mine = await openSignedIn()
    await mine.post(await linkAtProvider(mine), {})
    pat = await provider.addPerson("eve")
    const end = await linkAtProvider(await openSignedIn("eve"))
    expect([end.response.status, titleOf(end)]).toEqual([409, "This account is already linked"])
    expect(end.page).toMatch(/href="\/ui\/account\/security"[^>]*>Manage your account</)
    expect(listLinks()).toEqual([])
  })

  test("is rejected if it was linked meanwhile", async () => {
    const first = await openSignedIn()
    const page = await linkAtProvider(first)
    const patId = pat
    pat = await provider.addPerson("eve")
    const second = await openSignedIn("eve")
    const theirs = await linkAtProvider(second)
    expect((await first.post(page, {})).path).toBe("/ui/account/security")
    const end = await second.post(theirs, {})
    expect([end.response.status, titleOf(end)]).toEqual([409, "This account is already linked"])
    expect([listLinks(patId).length, listLinks().length]).toEqual([1, 0])
  })
})

describe("nothing is linked", () => {
  const turnOff = () => {
    const options = { ...allOptions, isLinkingAllowed: false }
    return updateIdp(provider.cx(), undefined, idpId, { name: "Acme", settings: oidc, options })
  }

  test.each([
    ["the provider doesn't allow it", turnOff],
    ["the organisation doesn't offer it", () => unlinkIdp(provider.cx(), undefined, idpId)],
    [
      "the organisation offers none",
      () =>
        changePolicy(provider.cx(), undefined, {
          policy: login,
          apply: () => ({ allowExternalIdp: false }),
        }),
    ],
  ])("if %s, before and after the redirect", async (_, forbid) => {
    const browser = await openSignedIn()
    const begun = createTicketUrl()
    const asked = await linkAtProvider(browser)
    await forbid()
    expect(listLinkableIds()).toEqual([])
    expect(() => createTicketUrl()).toThrow("identity provider not found")
    expect((await browser.go(begun)).response.status).toBe(400)
    expect((await browser.post(asked, {})).response.status).toBe(400)
    expect(listLinks()).toEqual([])
  })

  test("in a browser with another user, or none", async () => {
    await provider.addPerson("eve")
    for (const browser of [openBrowser(), await openSignedIn("eve")]) {
      const end = await browser.go(createTicketUrl())
      expect(end.response.status).toBe(400)
    }
  })

  test("by a response in another browser, even of the same user", async () => {
    const there = await (await openSignedIn()).go(createTicketUrl())
    const end = await (await openSignedIn()).go(upstream.signIn(there.path, ada))
    expect(end.response.status).toBe(403)
    expect(listLinks()).toEqual([])
  })

  test("by an expired or altered ticket", async () => {
    const browser = await openSignedIn()
    const old = createTicketUrl()
    expect((await browser.go(old.replace(/.$/, "!"))).response.status).toBe(400)
    provider.clock.advance(10 * minute)
    expect((await browser.go(old)).response.status).toBe(400)
  })

  test("half an hour after the sign-in", async () => {
    const browser = await openSignedIn()
    const asked = await linkAtProvider(browser)
    provider.clock.advance(30 * minute)
    expect((await browser.post(asked, {})).response.status).toBe(400)
    expect(listLinks()).toEqual([])
  })

  test("by an intent to sign in, and no user is created by one to link", async () => {
    const browser = await openSignedIn()
    const toLink = await linkAtProvider(browser)
    const first = openBrowser()
    const { family_name: _, ...short } = ada
    const option = await signInThroughProvider(first, short)
    const intentIn = (at: VisitedPage) => /name="intent" value="(\d+)"/.exec(at.page)?.[1] ?? ""
    const swapped = { ...option, page: option.page.replaceAll(intentIn(option), intentIn(toLink)) }
    expect((await first.post(swapped, { choice: "create" })).response.status).toBe(400)
    const planted = { ...toLink, page: toLink.page.replaceAll(intentIn(toLink), intentIn(option)) }
    expect((await browser.post(planted, {})).response.status).toBe(400)
    expect(listLinks()).toEqual([])
  })

  test("by a response that is used twice", async () => {
    const browser = await openSignedIn()
    const asked = await linkAtProvider(browser)
    await browser.post(asked, {})
    expect((await browser.post(asked, {})).response.status).toBe(400)
    expect(listLinks()).toHaveLength(1)
  })

  test("to a user who was locked meanwhile", async () => {
    const browser = await openSignedIn()
    const asked = await linkAtProvider(browser)
    await lockUser(provider.cx(), pat)
    expect((await browser.post(asked, {})).response.status).toBe(400)
    expect(listLinks()).toEqual([])
  })
})
