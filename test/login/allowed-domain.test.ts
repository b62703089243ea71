// Accounts that a provider creates are limited by the domain of the verified email address.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createIdp, linkIdp, updateIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { linksOf } from "../../src/domain/user-model/links.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { findDomainRejection } from "../../src/login/screen/external/allowed-domain.ts"
import type { Newcomer } from "../../src/login/screen/external/newcomer.ts"
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
import { directorySettings, openDirectory } from "../support/directory.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../support/upstream.ts"

let provider: Provider
let client: NewClient
let upstream: Upstream
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  upstream = await openUpstream()
})
afterEach(() => provider.close())

const openOptions: Options = {
  isLinkingAllowed: false,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: false,
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

const idpInput = (options: Partial<Options>, settings: Settings = oidc) => ({
  name: "Acme",
  settings,
  options: { ...openOptions, ...options },
  secret: "s3cret",
})

async function addProvider(options: Partial<Options>, settings: Settings = oidc): Promise<string> {
  const { id } = await createIdp(provider.cx(), undefined, idpInput(options, settings))
  await linkIdp(provider.cx(), undefined, id)
  return id
}

const newBrowser = () =>
  browserOf({ send: (path, init) => provider.send(path, init, { outside: upstream.outside }) })

const ada = {
  sub: "ada-1",
  preferred_username: "ada",
  given_name: "Ada",
  family_name: "Lovelace",
  email: "ada@example.com",
  email_verified: true,
}

async function signIn(claims: object = {}, browser = newBrowser()): Promise<VisitedPage> {
  const first = await browser.go(authorizePath(client.id))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? "/none"
  const there = await browser.go(href.replaceAll("&amp;", "&"))
  return browser.go(upstream.signIn(there.path, { ...ada, ...claims }))
}

const adaId = () => findByLoginName(provider.cx(), "ada")

/** The rejected requests as an administrator of the instance sees them. */
function listRejections() {
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const page = { offset: 0, limit: 10, asc: false }
  const requested = { requestId: "", appId: "", page }
  return searchRefusals({ ...provider.cx(), scope }, requested).rows
}

describe("an account is created", () => {
  test.each([
    ["in the domain", ["example.com"], "ada@example.com"],
    [
      "in one of several domains, whatever its case",
      ["a.example", "EXAMPLE.com"],
      "ada@Example.COM",
    ],
    ["in an international domain", ["bücher.example"], "ada@BÜCHER.example"],
    ["in an international domain as an A-label", ["bücher.example"], "ada@xn--bcher-kva.example"],
    ["in an A-label as an international domain", ["xn--bcher-kva.example"], "ada@bücher.example"],
  ])("for a verified address %s", async (_, allowedDomains, email) => {
    await addProvider({ allowedDomains })
    expect(responseOf(await signIn({ email }))).toHaveProperty("code")
    expect(adaId()).toBeDefined()
    expect(listRejections()).toEqual([])
  })

  test("for any address if no domains are set, as in existing providers", async () => {
    await addProvider({})
    const elsewhere = { email: "ada@anywhere.example", email_verified: false }
    expect(responseOf(await signIn(elsewhere))).toHaveProperty("code")
  })
})

describe("no account is created, and the page shows the reason,", () => {
  test.each([
    ["in another domain", { email: "ada@other.example" }, "other.example", "provider.domain"],
    ["in a subdomain", { email: "ada@a.example.com" }, "a.example.com", "provider.domain"],
    ["in a domain with this ending", { email: "ada@notexample.com" }, "notexample.com", undefined],
    ["that is not verified", { email_verified: false }, "example.com", "provider.unverified"],
    ["with two domains", { email: "ada@other.example@example.com" }, "", "provider.unverified"],
    ["that is percent-encoded", { email: "ada@ex%61mple.com" }, "", "provider.unverified"],
    ["that is missing", { email: undefined }, "", "provider.unverified"],
  ])("for an address %s", async (_, claims, received, likelyCauseKey = "provider.domain") => {
    await addProvider({ allowedDomains: ["example.com"] })
    const end = await signIn(claims)
    expect(end.response.status).toBe(403)
    expect(end.page).toContain("No account was created")
    expect(end.page).toContain("Ask your administrator for an account")
    expect(adaId()).toBeUndefined()
    const [refusal, ...others] = listRejections()
    expect(others).toEqual([])
    expect(refusal).toMatchObject({ error: "access_denied", clientId: client.id })
    expect(refusal?.findings).toMatchObject([{ received, expected: [], likelyCauseKey }])
    expect(end.page).toContain(`${refusal?.requestId}`)
    expect(JSON.stringify(refusal)).not.toContain("ada@")
  })

  test("on the page that could create one", async () => {
    const options = { isAutoCreation: false, isLinkingAllowed: true }
    const id = await addProvider(options)
    const browser = newBrowser()
    const asked = await signIn({}, browser)
    expect(asked.page).toContain("I&#x27;m new here")
    const allowedDomains = ["b.example"]
    await updateIdp(provider.cx(), undefined, id, idpInput({ ...options, allowedDomains }))
    const create = { ...asked, page: asked.page.slice(asked.page.indexOf("I&#x27;m new here")) }
    const typed = { givenName: "Ada", familyName: "Lovelace", email: "ada@b.example" }
    const end = await browser.post(create, { choice: "create", ...typed, userName: "ada" })
    expect(end.response.status).toBe(403)
    expect(end.page).toContain("No account was created")
    expect(adaId()).toBeUndefined()
  })

  test("through a directory", async () => {
    const { mail, ...rest } = { mail: "ada@other.example", mailverified: "TRUE" }
    const directory = openDirectory({
      ada: { password: "Ada-secret-1", givenname: "Ada", sn: "Lovelace", mail, ...rest },
    })
    await addProvider({ allowedDomains: ["example.com"] }, directorySettings)
    const { outside } = directory
    const browser = browserOf({ send: (path, init) => provider.send(path, init, { outside }) })
    const signInThere = async () => {
      const first = await browser.go(authorizePath(client.id))
      const href = /href="([^"]*login\/ldap[^"]*)"/.exec(first.page)?.[1] ?? "/none"
      const form = await browser.go(href.replaceAll("&amp;", "&"))
      return browser.post(form, { loginName: "ada", password: "Ada-secret-1" })
    }
    expect((await signInThere()).page).toContain("No account was created")
    directory.people.ada = { ...directory.people.ada, password: "Ada-secret-1", mail: ada.email }
    expect(responseOf(await signInThere())).toHaveProperty("code")
  })
})

describe("the domains don't apply to", () => {
  test("users who are linked already", async () => {
    const id = await addProvider({})
    await signIn()
    await updateIdp(provider.cx(), undefined, id, idpInput({ allowedDomains: ["other.example"] }))
    expect(responseOf(await signIn())).toHaveProperty("code")
    expect(listRejections()).toEqual([])
  })

  test("users who link an existing account, which is the only option", async () => {
    const allowedDomains = ["other.example"]
    await addProvider({ isLinkingAllowed: true, allowedDomains })
    const userId = await provider.addPerson("kim")
    const browser = newBrowser()
    const asked = await signIn({}, browser)
    expect(asked.page).toContain("Acme can&#x27;t create an account here for your email address")
    expect(asked.page).not.toContain("I&#x27;m new here")
    const end = await browser.post(asked, { choice: "link", loginName: "kim", password })
    expect(responseOf(end)).toHaveProperty("code")
    expect(linksOf(provider.cx().store.state(provider.cx(), user, userId))).toHaveLength(1)
  })
})

test("scripts can't bypass them: only the provider's own data is used", () => {
  const said = { email: "ada@other.example", emailVerified: true }
  const identity = { email: "ada@example.com", emailVerified: true }
  const newcomer = (scripted: object | undefined) =>
    ({
      found: { idp: { options: { ...openOptions, allowedDomains: ["example.com"] } } },
      intent: { answered: { identity, scripted } },
    }) as unknown as Newcomer
  expect(findDomainRejection(newcomer(undefined))).toBeUndefined()
  expect(findDomainRejection(newcomer({ said }))).toMatchObject({ domain: "other.example" })
})
