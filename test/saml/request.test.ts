import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createPassword } from "../../src/domain/credential/index.ts"
import * as project from "../../src/domain/project/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { browserOf, type Provider, password } from "../oauth/provider.ts"
import { authnRequest, redirectPath } from "./requests.ts"
import {
  acsUrl,
  addServiceProvider,
  messageIn,
  openSamlProvider,
  spId,
} from "./service-provider.ts"

let provider: Provider
beforeAll(async () => {
  provider = await openSamlProvider()
  await addServiceProvider(provider)
  await provider.addPerson("pat")
})
afterAll(() => provider.close())

const protocol = "urn:oasis:names:tc:SAML:2.0"
const requestPath = (inside: string, attributes = {}) =>
  redirectPath(authnRequest({ content: inside, attributes }))

/** A browser in which pat is signed in. */
async function openPatsBrowser() {
  const browser = browserOf(provider)
  await browser.signIn(requestPath(""), "pat")
  return browser
}

describe("errors shown to the user only", () => {
  const shown = async (path: string) => {
    const { response, page } = await browserOf(provider).go(path)
    expect(page).not.toContain("SAMLResponse")
    expect(response.headers.get("location")).toBeNull()
    return page
  }

  test.each([
    ["an unknown service provider", { entityId: "https://other.example.com" }, ""],
    [
      "an address that the metadata does not name",
      { attributes: { AssertionConsumerServiceURL: "https://evil.example.com/acs" } },
      "AssertionConsumerServiceURL is not in the registered metadata",
    ],
    [
      "an index that the metadata does not name",
      { attributes: { AssertionConsumerServiceIndex: "7" } },
      "AssertionConsumerServiceIndex is not in the registered metadata",
    ],
    [
      "a request for another server",
      { attributes: { Destination: "https://id2.example.com/SSO" } },
      "Destination must be",
    ],
    ["a request from yesterday", { at: Date.now() - 86_400_000 }, "IssueInstant must be"],
    ["a request from tomorrow", { at: Date.now() + 86_400_000 }, "IssueInstant must be"],
    ["a request without an ID", { attributes: { ID: undefined } }, "ID must be"],
  ])("%s", async (_, parts, values) => {
    expect(await shown(redirectPath(authnRequest(parts)))).toContain(values)
  })

  test("an overlong relay state", async () => {
    const page = await shown(redirectPath(authnRequest(), { RelayState: "x".repeat(4097) }))
    expect(page).toContain("RelayState must be at most 4096 characters")
  })
})

describe("errors sent to the service provider", () => {
  test.each([
    [
      "InvalidNameIDPolicy",
      `<samlp:NameIDPolicy Format="${protocol}:nameid-format:kerberos"/>`,
      {},
    ],
    [
      "InvalidNameIDPolicy",
      '<samlp:NameIDPolicy SPNameQualifier="https://other.example.com"/>',
      {},
    ],
    [
      "NoAuthnContext",
      "<samlp:RequestedAuthnContext><saml:AuthnContextClassRef>urn:x" +
        "</saml:AuthnContextClassRef></samlp:RequestedAuthnContext>",
      {},
    ],
    ["RequestUnsupported", "<saml:Subject><saml:NameID>pat</saml:NameID></saml:Subject>", {}],
    ["VersionMismatch", "", { Version: "1.1" }],
    ["UnsupportedBinding", "", { ProtocolBinding: `${protocol}:bindings:HTTP-Artifact` }],
    ["NoPassive", "", { IsPassive: "true" }],
  ])("%s", async (status, inside, attributes) => {
    const { response, page } = await browserOf(provider).go(requestPath(inside, attributes))
    expect(response.status).toBe(200)
    const xml = messageIn(page)
    expect(xml).toContain(`Value="${protocol}:status:${status}"`)
    expect(xml).toContain(`Destination="${acsUrl}"`)
    expect(xml).toContain("<ds:SignatureValue>")
    expect(xml).not.toContain("Assertion ")
  })
})

describe("the user who signs in", () => {
  test("has a name ID in the requested format, one for each application", async () => {
    const browser = await openPatsBrowser()
    await addServiceProvider(provider, { entityId: "https://second.example.com" })
    const named = async (format: string, entityId = spId) => {
      const inside = `<samlp:NameIDPolicy Format="urn:oasis:names:tc:SAML:${format}"/>`
      const { page } = await browser.go(redirectPath(authnRequest({ content: inside, entityId })))
      return /<saml:NameID[^>]*>([^<]*)</.exec(messageIn(page))?.[1] ?? ""
    }
    expect(await named("1.1:nameid-format:emailAddress")).toBe("pat@example.org")
    const lasting = await named("2.0:nameid-format:persistent")
    expect(await named("2.0:nameid-format:persistent")).toBe(lasting)
    expect(await named("2.0:nameid-format:persistent", "https://second.example.com")).not.toBe(
      lasting,
    )
    const passing = await named("2.0:nameid-format:transient")
    expect(passing).not.toBe(lasting)
    await browser.signIn(requestPath("", { ForceAuthn: "true" }), "pat")
    const other = await openPatsBrowser()
    const { page } = await other.go(
      requestPath(`<samlp:NameIDPolicy Format="${protocol}:nameid-format:transient"/>`),
    )
    expect(messageIn(page)).not.toContain(passing)
  })

  test("must sign in again if requested, which the response states", async () => {
    const browser = await openPatsBrowser()
    const at = await browser.go(requestPath("", { ForceAuthn: "true" }))
    expect(at.path).toContain("/ui/login/password")
    provider.clock.advance(60_000)
    const again = await browser.post(at, { loginName: "pat", password })
    const instant = /AuthnInstant="([^"]*)"/.exec(messageIn(again.page))?.[1] ?? ""
    expect(Date.parse(instant)).toBeGreaterThan(provider.clock.now() - 5000)
  })

  test("has no context beyond the checks that were done", async () => {
    const browser = await openPatsBrowser()
    const wants = (name: string, comparison = "exact") =>
      `<samlp:RequestedAuthnContext Comparison="${comparison}"><saml:AuthnContextClassRef>` +
      `${name}</saml:AuthnContextClassRef></samlp:RequestedAuthnContext>`
    const password = `${protocol}:ac:classes:Password`
    const exact = await browser.go(requestPath(wants(password)))
    expect(messageIn(exact.page)).toContain(`<saml:AuthnContextClassRef>${password}<`)
    const better = await browser.go(requestPath(wants(password, "minimum")))
    expect(messageIn(better.page)).toContain(`${password}ProtectedTransport<`)
    const mfa = await browser.go(requestPath(wants("https://refeds.org/profile/mfa")))
    expect(mfa.path).toMatch(/\/ui\/login\/(mfa|password)/)
    const silent = await browser.go(
      requestPath(wants("https://refeds.org/profile/mfa"), { IsPassive: "true" }),
    )
    expect(messageIn(silent.page)).toContain("status:NoPassive")
  })

  test.each(["valueOf", "__proto__", "toString"])(
    "is not signed in for an invalid comparison: %s",
    async (comparison) => {
      const browser = await openPatsBrowser()
      const context =
        `<samlp:RequestedAuthnContext Comparison="${comparison}"><saml:AuthnContextClassRef>` +
        `${protocol}:ac:classes:Password</saml:AuthnContextClassRef></samlp:RequestedAuthnContext>`
      const { page } = await browser.go(requestPath(context))
      expect(messageIn(page)).toContain("status:NoAuthnContext")
    },
  )

  test("gets no response without access to the project", async () => {
    const cx = provider.cx()
    const projectId = cx.ids.next()
    const orgId = provider.setup.orgId
    await project.createProject(cx, projectId, { orgId, name: "Closed", projectRoleCheck: true })
    const entityId = "https://closed.example.com"
    await addServiceProvider(provider, { entityId }, { projectId })
    const browser = await openPatsBrowser()
    const at = await browser.go(redirectPath(authnRequest({ entityId })))
    expect(at.page).not.toContain("SAMLResponse")
    expect(at.path).toContain("/ui/login/consent")
    const passive = await browser.go(
      redirectPath(authnRequest({ entityId, attributes: { IsPassive: "true" } })),
    )
    expect(messageIn(passive.page)).toContain("status:RequestDenied")
  })

  test("is not identified by an unverified address", async () => {
    await createUser(provider.cx(), provider.cx().ids.next(), {
      kind: "human",
      orgId: provider.setup.orgId,
      userName: "quinn",
      profile: { givenName: "Quinn", familyName: "Quick" },
      email: { value: "olga@example.com", verified: false },
      password: await createPassword(password, { names: ["quinn"] }),
    })
    const browser = browserOf(provider)
    const at = await browser.signIn(requestPath(""), "quinn")
    expect(messageIn(at.page)).toContain(">quinn<")
    expect(messageIn(at.page)).not.toContain("olga@example.com")
    const format = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
    const named = await browser.go(requestPath(`<samlp:NameIDPolicy Format="${format}"/>`))
    expect(messageIn(named.page)).toContain("status:InvalidNameIDPolicy")
  })
})
