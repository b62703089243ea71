// A fresh sign-in that is required of somebody who comes through a provider that speaks SAML.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { changeApplication } from "../../src/domain/app/index.ts"
import { answerOf, authorizePath, type NewClient, type Provider } from "../oauth/provider.ts"
import { authnRequest, redirectPath } from "./asking.ts"
import {
  type Asked,
  ada,
  askedBy,
  assertionFor,
  idpMetadata,
  responseFor,
  signedXml,
} from "./identity-provider.ts"
import {
  addServiceProvider,
  createKey,
  messageIn,
  openSamlProvider,
  type ProviderKey,
} from "./service-provider.ts"
import { addSaml, type Browser, bring, newBrowser } from "./upstream.ts"

let provider: Provider
let client: NewClient
let key: ProviderKey
let appId = ""
beforeAll(async () => {
  provider = await openSamlProvider()
  client = await provider.addClient()
  key = await createKey()
  appId = await addServiceProvider(provider)
  await addSaml(provider, idpMetadata([key]))
})
afterAll(() => provider.close())

const hour = 3_600_000
const now = () => provider.clock.now()
let people = 0

/** What the provider is asked when somebody goes there for a request. */
async function askedFor(browser: Browser, path: string): Promise<Asked> {
  const first = await browser.go(path)
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  return askedBy((await browser.go(href.replaceAll("&amp;", "&"))).path)
}

/** Signs somebody new in whose session at the provider is so old. */
async function signIn(path: string, age: number) {
  const browser = newBrowser(provider)
  const asked = await askedFor(browser, path)
  provider.clock.advance(1)
  const name = `fresh${++people}`
  const attributes = { ...ada, Email: `${name}@example.com`, UserName: name }
  const said = { nameId: name, attributes, authnInstant: now() - age }
  const plain = assertionFor(asked, now(), said)
  const xml = responseFor(asked, now(), signedXml(plain, { by: key }), said)
  return bring(provider, browser, { xml, asked })
}

const oidcPath = (asking: Readonly<Record<string, string>>) => authorizePath(client.id, asking)
const samlPath = (attributes: Readonly<Record<string, string>> = {}) =>
  redirectPath(authnRequest({ attributes, at: now() }))

describe("ForceAuthn is sent to the provider", () => {
  test.each<readonly [string, () => string, boolean]>([
    ["not where nothing is required", () => oidcPath({}), false],
    ["for prompt=login", () => oidcPath({ prompt: "login" }), true],
    ["for max_age, which SAML does not have", () => oidcPath({ max_age: "600" }), true],
    ["for ForceAuthn", () => samlPath({ ForceAuthn: "true" }), true],
  ])("%s", async (_, path, isForced) => {
    const { xml } = await askedFor(newBrowser(provider), path())
    expect(xml.includes('ForceAuthn="true"')).toBe(isForced)
  })

  test("also by a provider that wants a form", async () => {
    const other = await openSamlProvider()
    const { id } = await other.addClient()
    const metadata = idpMetadata([key]).replaceAll("HTTP-Redirect", "HTTP-POST")
    await addSaml(other, metadata, { binding: "post" })
    const browser = newBrowser(other)
    const first = await browser.go(authorizePath(id, { prompt: "login" }))
    const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
    const { page } = await browser.go(href.replaceAll("&amp;", "&"))
    const sent = /name="SAMLRequest" value="([^"]*)"/.exec(page)?.[1] ?? ""
    expect(Buffer.from(sent, "base64").toString()).toContain('ForceAuthn="true"')
    await other.close()
  })
})

const instantIn = (page: string) =>
  Date.parse(/AuthnInstant="([^"]*)"/.exec(messageIn(page))?.[1] ?? "")

describe("a context that asks for a password", () => {
  const inside =
    "<samlp:RequestedAuthnContext><saml:AuthnContextClassRef>" +
    "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport" +
    "</saml:AuthnContextClassRef></samlp:RequestedAuthnContext>"
  const path = () => redirectPath(authnRequest({ inside, at: now() }))

  test("keeps nobody out who comes by a provider", async () => {
    const xml = messageIn((await signIn(path(), 0)).page)
    expect(xml).toContain("status:Success")
    expect(xml).toContain("ac:classes:unspecified<")
  })

  test("keeps them out where it is enforced, with the cause", async () => {
    await changeApplication(provider.cx(), appId, { saml: { enforceContext: true } })
    const xml = messageIn((await signIn(path(), 0)).page)
    await changeApplication(provider.cx(), appId, { saml: { enforceContext: false } })
    expect(xml).toContain("status:NoAuthnContext")
    expect(xml).toContain("the user signed in without a password")
  })
})

describe("AuthnInstant", () => {
  test("is that of the provider", async () => {
    const { page } = await signIn(samlPath(), 3 * hour)
    expect(instantIn(page)).toBe(now() - 3 * hour)
  })

  test("satisfies ForceAuthn where it is new", async () => {
    const { page } = await signIn(samlPath({ ForceAuthn: "true" }), 0)
    expect(instantIn(page)).toBe(now())
  })

  test("of three hours ago does not: the service provider gets NoAuthnContext", async () => {
    const { page } = await signIn(samlPath({ ForceAuthn: "true" }), 3 * hour)
    expect(messageIn(page)).toContain("urn:oasis:names:tc:SAML:2.0:status:NoAuthnContext")
    expect(messageIn(page)).toContain("the identity provider Acme did not sign the user in again")
    expect(messageIn(page)).not.toContain("Assertion ")
  })

  test("of three hours ago satisfies no max_age of one, and one of four", async () => {
    const answer = answerOf(await signIn(oidcPath({ max_age: "3600" }), 3 * hour))
    expect(answer.error).toBe("login_required")
    expect(answerOf(await signIn(oidcPath({ max_age: "14400" }), 3 * hour))).toHaveProperty("code")
  })
})
