// A fresh sign-in required of users of a SAML identity provider.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { updateApplication } from "../../src/domain/app/index.ts"
import { authorizePath, type NewClient, type Provider, responseOf } from "../oauth/provider.ts"
import {
  ada,
  createAssertion,
  createResponse,
  idpMetadata,
  parseRedirect,
  type SamlRequest,
  signXml,
} from "./identity-provider.ts"
import { authnRequest, redirectPath } from "./requests.ts"
import {
  addServiceProvider,
  createKey,
  messageIn,
  openSamlProvider,
  type ProviderKey,
} from "./service-provider.ts"
import { addSaml, type Browser, newBrowser, postResponse } from "./upstream.ts"

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
let userCount = 0

/** The request to the provider for a sign-in. */
async function startAtProvider(browser: Browser, path: string): Promise<SamlRequest> {
  const first = await browser.go(path)
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  return parseRedirect((await browser.go(href.replaceAll("&amp;", "&"))).path)
}

/** Signs a new user in whose session at the provider has this age. */
async function signIn(path: string, age: number) {
  const browser = newBrowser(provider)
  const asked = await startAtProvider(browser, path)
  provider.clock.advance(1)
  const name = `fresh${++userCount}`
  const attributes = { ...ada, Email: `${name}@example.com`, UserName: name }
  const said = { nameId: name, attributes, authnInstant: now() - age }
  const plain = createAssertion(asked, now(), said)
  const xml = createResponse(asked, now(), signXml(plain, { by: key }), said)
  return postResponse(provider, browser, { xml, asked })
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
    const { xml } = await startAtProvider(newBrowser(provider), path())
    expect(xml.includes('ForceAuthn="true"')).toBe(isForced)
  })

  test("also in the POST binding", async () => {
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

describe("a context that requires a password", () => {
  const inside =
    "<samlp:RequestedAuthnContext><saml:AuthnContextClassRef>" +
    "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport" +
    "</saml:AuthnContextClassRef></samlp:RequestedAuthnContext>"
  const path = () => redirectPath(authnRequest({ content: inside, at: now() }))

  test("accepts users of a provider", async () => {
    const xml = messageIn((await signIn(path(), 0)).page)
    expect(xml).toContain("status:Success")
    expect(xml).toContain("ac:classes:unspecified<")
  })

  test("rejects them if it is enforced, with the reason", async () => {
    await updateApplication(provider.cx(), appId, { saml: { enforceContext: true } })
    const xml = messageIn((await signIn(path(), 0)).page)
    await updateApplication(provider.cx(), appId, { saml: { enforceContext: false } })
    expect(xml).toContain("status:NoAuthnContext")
    expect(xml).toContain("the user signed in without a password")
  })
})

describe("AuthnInstant", () => {
  test("is the provider's", async () => {
    const { page } = await signIn(samlPath(), 3 * hour)
    expect(instantIn(page)).toBe(now() - 3 * hour)
  })

  test("satisfies ForceAuthn if it is new", async () => {
    const { page } = await signIn(samlPath({ ForceAuthn: "true" }), 0)
    expect(instantIn(page)).toBe(now())
  })

  test("of three hours ago does not satisfy it, which returns NoAuthnContext", async () => {
    const { page } = await signIn(samlPath({ ForceAuthn: "true" }), 3 * hour)
    expect(messageIn(page)).toContain("urn:oasis:names:tc:SAML:2.0:status:NoAuthnContext")
    expect(messageIn(page)).toContain("the identity provider Acme did not sign in the user again")
    expect(messageIn(page)).not.toContain("Assertion ")
  })

  test("of three hours ago violates a max_age of one hour, and satisfies one of four", async () => {
    const answer = responseOf(await signIn(oidcPath({ max_age: "3600" }), 3 * hour))
    expect(answer.error).toBe("login_required")
    expect(responseOf(await signIn(oidcPath({ max_age: "14400" }), 3 * hour))).toHaveProperty(
      "code",
    )
  })
})
