// Linking an account elsewhere from one's own account pages, in browsers without sockets.
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { unlinkUser } from "../../src/domain/federation/link.ts"
import { linkableIdps, startLinking } from "../../src/domain/federation/linking.ts"
import { addIdp, changeIdp, linkIdp, unlinkIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { lockUser } from "../../src/domain/user/index.ts"
import { linksOf } from "../../src/domain/user-model/links.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { authorizePath, openProvider, type Provider, type Visited } from "../oauth/provider.ts"
import {
  askedBy,
  assertionFor,
  idpMetadata,
  responseFor,
  signedXml,
} from "../saml/identity-provider.ts"
import { createKey } from "../saml/service-provider.ts"
import { addSaml, type Browser, bring, newBrowser } from "../saml/upstream.ts"
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

const all: Options = {
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

async function addProvider(settings: Settings, options = all): Promise<string> {
  const wish = { name: "Acme", settings, options, secret: "s3cret" }
  const { id } = await addIdp(provider.cx(), undefined, wish)
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

const linksNow = (id = pat) => linksOf(provider.cx().store.state(provider.cx(), user, id))
const opened = (outside = upstream.outside) => newBrowser(provider, outside)
const linkable = () => linkableIdps(provider.cx(), pat).map(({ idp }) => idp.id)

/** A browser that somebody is signed in to. */
async function signedIn(name = "pat", outside = upstream.outside): Promise<Browser> {
  const browser = opened(outside)
  await browser.signIn(authorizePath(clientId), name)
  return browser
}

/** The address that the account page is given. */
function ticket(id = idpId, userId = pat): string {
  const { pathname, search } = new URL(startLinking(provider.cx(), userId, id))
  return pathname + search
}

/** There and back: the page that shows both accounts. */
async function came(browser: Browser, claims: object = ada): Promise<Visited> {
  const there = await browser.go(ticket())
  return browser.go(upstream.signIn(there.path, { ...claims }))
}

/** Where a sign-in with the provider ends. */
async function throughProvider(browser: Browser, claims: object): Promise<Visited> {
  const first = await browser.go(authorizePath(clientId))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  const there = await browser.go(href.replaceAll("&amp;", "&"))
  return browser.go(upstream.signIn(there.path, { ...claims }))
}

const titleOf = ({ page }: Visited) => /<h1[^>]*>([^<]*)/.exec(page)?.[1]

describe("who is signed in", () => {
  test("sees both accounts before they are linked, and then comes back to theirs", async () => {
    const browser = await signedIn()
    const asked = await came(browser)
    expect(titleOf(asked)).toBe("Link this account?")
    expect(asked.page).toContain("ada@example.com")
    expect(asked.page).toContain("Pat Person")
    expect(linksNow()).toEqual([])
    const end = await browser.post(asked, {})
    expect(end.path).toBe("/ui/account/security")
    expect(linksNow()).toMatchObject([{ idpId, externalId: "ada-1", name: "ada" }])
    expect(linkable()).toEqual([])
  })

  test("signs in by it from then on", async () => {
    const browser = await signedIn()
    await browser.post(await came(browser), {})
    const end = await throughProvider(opened(), ada)
    expect(new URL(end.path).searchParams.has("code")).toBe(true)
  })

  test("is nobody to it once it is unlinked, and can link it again", async () => {
    const browser = await signedIn()
    await browser.post(await came(browser), {})
    await unlinkUser(provider.cx(), pat, { idpId, linkedUserId: ada.sub })
    expect([linksNow(), linkable()]).toEqual([[], [idpId]])
    const other = opened()
    const { family_name: _, ...short } = ada
    const asked = await throughProvider(other, short)
    expect(asked.page).toContain("No account here is linked to it yet")
    const again = await signedIn()
    await again.post(await came(again), {})
    expect(linksNow()).toMatchObject([{ idpId, externalId: "ada-1" }])
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
    const browser = await signedIn("pat", outside)
    const form = await browser.go(ticket(id))
    expect(form.page).toContain('<a href="/ui/account/security">Cancel</a>')
    const wrong = await browser.post(form, { loginName: "ada", password: "wrong" })
    expect(wrong.response.status).toBe(422)
    const asked = await browser.post(wrong, { loginName: "ada", password: "Ada-secret-1" })
    expect(titleOf(asked)).toBe("Link this account?")
    await browser.post(asked, {})
    expect(linksNow()).toMatchObject([{ idpId: id }])
  })

  test("links an account of a provider that speaks OAuth alone", async () => {
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
    const browser = await signedIn()
    const there = await browser.go(ticket(id))
    const asked = await browser.go(upstream.signIn(there.path, ada))
    expect(titleOf(asked)).toBe("Link this account?")
    await browser.post(asked, {})
    expect(linksNow()).toMatchObject([{ idpId: id, externalId: "ada-1" }])
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
    const browser = await signedIn("pat", { ...upstream.outside, send })
    const { searchParams } = new URL((await browser.go(ticket(id))).path)
    const token = await new SignJWT({ ...ada, iss: upstreamIssuer })
      .setProtectedHeader({ alg: "ES256", kid: "k1" })
      .setExpirationTime(new Date(provider.clock.now() + 5 * minute))
      .sign(privateKey)
    const asked = await browser.go(`/idps/jwt?${searchParams}`, {
      headers: { "x-user-token": token },
    })
    expect(titleOf(asked)).toBe("Link this account?")
    await browser.post(asked, {})
    expect(linksNow()).toMatchObject([{ idpId: id, externalId: "ada-1" }])
  })

  test("links an account of a provider that speaks SAML", async () => {
    const key = await createKey()
    const id = await addSaml(provider, idpMetadata([key]))
    const browser = await signedIn()
    const asked = askedBy((await browser.go(ticket(id))).path)
    const now = provider.clock.now()
    const xml = responseFor(asked, now, signedXml(assertionFor(asked, now), { by: key }))
    const page = await bring(provider, browser, { xml, asked })
    expect(titleOf(page)).toBe("Link this account?")
    await browser.post(page, {})
    expect(linksNow()).toMatchObject([{ idpId: id }])
  })
})

describe("what is somebody else's", () => {
  test("is refused with a page that says so, and stays theirs", async () => {
    const mine = await signedIn()
    await mine.post(await came(mine), {})
    pat = await provider.addPerson("eve")
    const end = await came(await signedIn("eve"))
    expect([end.response.status, titleOf(end)]).toEqual([409, "This account is already linked"])
    expect(end.page).toMatch(/href="\/ui\/account\/security"[^>]*>Manage your account</)
    expect(linksNow()).toEqual([])
  })

  test("is refused where it became so meanwhile", async () => {
    const first = await signedIn()
    const page = await came(first)
    const patId = pat
    pat = await provider.addPerson("eve")
    const second = await signedIn("eve")
    const theirs = await came(second)
    expect((await first.post(page, {})).path).toBe("/ui/account/security")
    const end = await second.post(theirs, {})
    expect([end.response.status, titleOf(end)]).toEqual([409, "This account is already linked"])
    expect([linksNow(patId).length, linksNow().length]).toEqual([1, 0])
  })
})

describe("nothing is linked", () => {
  const turnOff = () => {
    const options = { ...all, isLinkingAllowed: false }
    return changeIdp(provider.cx(), undefined, idpId, { name: "Acme", settings: oidc, options })
  }

  test.each([
    ["the provider doesn't allow it", turnOff],
    ["the organisation doesn't offer it", () => unlinkIdp(provider.cx(), undefined, idpId)],
    [
      "the organisation offers none",
      () =>
        changePolicy(provider.cx(), undefined, {
          policy: login,
          say: () => ({ allowExternalIdp: false }),
        }),
    ],
  ])("where %s, before and after the way there", async (_, forbid) => {
    const browser = await signedIn()
    const begun = ticket()
    const asked = await came(browser)
    await forbid()
    expect(linkable()).toEqual([])
    expect(() => ticket()).toThrow("there is no such identity provider")
    expect((await browser.go(begun)).response.status).toBe(400)
    expect((await browser.post(asked, {})).response.status).toBe(400)
    expect(linksNow()).toEqual([])
  })

  test("in a browser that somebody else, or nobody, is signed in to", async () => {
    await provider.addPerson("eve")
    for (const browser of [opened(), await signedIn("eve")]) {
      const end = await browser.go(ticket())
      expect(end.response.status).toBe(400)
    }
  })

  test("by an answer that another browser brings, also where it is the same person's", async () => {
    const there = await (await signedIn()).go(ticket())
    const end = await (await signedIn()).go(upstream.signIn(there.path, ada))
    expect(end.response.status).toBe(403)
    expect(linksNow()).toEqual([])
  })

  test("by a ticket that is over, or altered", async () => {
    const browser = await signedIn()
    const old = ticket()
    expect((await browser.go(old.replace(/.$/, "!"))).response.status).toBe(400)
    provider.clock.advance(10 * minute)
    expect((await browser.go(old)).response.status).toBe(400)
  })

  test("half an hour after the sign-in", async () => {
    const browser = await signedIn()
    const asked = await came(browser)
    provider.clock.advance(30 * minute)
    expect((await browser.post(asked, {})).response.status).toBe(400)
    expect(linksNow()).toEqual([])
  })

  test("by an intent to sign in, nor is anybody made by one to link", async () => {
    const browser = await signedIn()
    const toLink = await came(browser)
    const first = opened()
    const { family_name: _, ...short } = ada
    const option = await throughProvider(first, short)
    const intentIn = (at: Visited) => /name="intent" value="(\d+)"/.exec(at.page)?.[1] ?? ""
    const swapped = { ...option, page: option.page.replaceAll(intentIn(option), intentIn(toLink)) }
    expect((await first.post(swapped, { choice: "create" })).response.status).toBe(400)
    const planted = { ...toLink, page: toLink.page.replaceAll(intentIn(toLink), intentIn(option)) }
    expect((await browser.post(planted, {})).response.status).toBe(400)
    expect(linksNow()).toEqual([])
  })

  test("by an answer that is brought twice", async () => {
    const browser = await signedIn()
    const asked = await came(browser)
    await browser.post(asked, {})
    expect((await browser.post(asked, {})).response.status).toBe(400)
    expect(linksNow()).toHaveLength(1)
  })

  test("to who was locked meanwhile", async () => {
    const browser = await signedIn()
    const asked = await came(browser)
    await lockUser(provider.cx(), pat)
    expect((await browser.post(asked, {})).response.status).toBe(400)
    expect(linksNow()).toEqual([])
  })
})
