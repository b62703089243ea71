// RequestedAuthnContext: what toolkits request by default, and what is enforced.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { updateApplication } from "../../src/domain/app/index.ts"
import { beginKey, finishKey } from "../../src/domain/factor/key/key.ts"
import { setPublicUrl } from "../../src/domain/instance/index.ts"
import { entityOfInstance } from "../../src/saml/path.ts"
import { describeMismatch, selectClass } from "../../src/saml/request/context.ts"
import { browserOf, issuer, type Provider, password } from "../oauth/provider.ts"
import { type Authenticator, createKey } from "../support/authenticator.ts"
import { authnRequest, redirectPath } from "./requests.ts"
import {
  addServiceProvider,
  messageIn,
  nodeSaml,
  openSamlProvider,
  pathOf,
  postedFields,
} from "./service-provider.ts"

let provider: Provider
let appId = ""
let key: Authenticator
beforeAll(async () => {
  provider = await openSamlProvider()
  appId = await addServiceProvider(provider)
  const id = await provider.addPerson("pat")
  await provider.addPerson("kim")
  const { tokenId, options } = await beginKey(provider.cx(), id, { kind: "passkey" })
  key = createKey(options, { origin: issuer })
  await finishKey(provider.cx(), id, {
    kind: "passkey",
    tokenId,
    credential: key.creation,
    name: "",
  })
})
afterAll(() => provider.close())

const classes = "urn:oasis:names:tc:SAML:2.0:ac:classes:"
const mfa = "https://refeds.org/profile/mfa"
const passwordTransport = `${classes}PasswordProtectedTransport`

const requestWithContexts = (names: readonly string[], comparison = "exact", attributes = {}) => {
  const refs = names.map((name) => `<saml:AuthnContextClassRef>${name}</saml:AuthnContextClassRef>`)
  const inside =
    `<samlp:RequestedAuthnContext Comparison="${comparison}">${refs.join("")}` +
    "</samlp:RequestedAuthnContext>"
  return redirectPath(authnRequest({ content: inside, attributes, at: provider.clock.now() }))
}

/** Signs pat in with the passkey, for a request. */
async function withPasskey(path: string) {
  const browser = browserOf(provider)
  const at = await browser.go(path)
  const [, options = ""] = /data-key-options="([^"]*)"/.exec(at.page) ?? []
  const asked = JSON.parse(options.replaceAll("&quot;", '"').replaceAll("&amp;", "&"))
  const field = (name: string) =>
    new RegExp(`name="${name}" value="([^"]+)"`).exec(at.page)?.[1] ?? ""
  const fields = {
    credential: JSON.stringify(key.assertion(asked, { origin: issuer })),
    challenge: field("challenge"),
    authRequest: field("authRequest"),
    csrf: field("csrf"),
  }
  const body = new URLSearchParams(fields)
  return { browser, end: await browser.go("/ui/login/passkey", { method: "POST", body }) }
}

const classIn = (page: string) =>
  /<saml:AuthnContextClassRef>([^<]*)</.exec(messageIn(page))?.[1] ?? messageIn(page)

describe("a context that requires only a password", () => {
  test("is node-saml's default, and accepts a passkey", async () => {
    const sp = await nodeSaml(provider, { disableRequestedAuthnContext: false })
    const { end } = await withPasskey(pathOf(await sp.getAuthorizeUrlAsync("", "", {})))
    const { profile } = await sp.validatePostResponseAsync(postedFields(end.page))
    expect(profile).toMatchObject({ issuer: `${issuer}/saml/v2/metadata`, UserName: "pat" })
    expect(classIn(end.page)).toBe(mfa)
  })

  test.each([
    [[passwordTransport], "exact"],
    [[`${classes}Password`], "minimum"],
    [[`${classes}unspecified`, passwordTransport], "exact"],
    [[`${classes}Password`], "maximum"],
  ])("gets the actual context of the sign-in: %s, %s", async (names, comparison) => {
    const { end } = await withPasskey(requestWithContexts(names, comparison))
    expect(end.page).toContain("SAMLResponse")
    expect(messageIn(end.page)).toContain("status:Success")
  })

  test("is fulfilled if possible", async () => {
    const browser = browserOf(provider)
    const end = await browser.signIn(requestWithContexts([passwordTransport]), "kim")
    expect(classIn(end.page)).toBe(passwordTransport)
  })
})

describe("a context that requires more", () => {
  test.each([
    [[mfa], "exact"],
    [[passwordTransport], "better"],
    [[mfa, passwordTransport], "exact"],
  ])("is enforced: %s, %s", async (names, comparison) => {
    const path = requestWithContexts(names, comparison, { IsPassive: "true" })
    const { browser } = await withPasskey(requestWithContexts([passwordTransport]))
    expect(messageIn((await browser.go(path)).page)).toContain("status:Success")
    const other = browserOf(provider)
    await other.signIn(requestWithContexts([passwordTransport]), "kim")
    const { page } = await other.go(path)
    const met = names.includes(passwordTransport) && comparison === "exact"
    expect(messageIn(page)).toContain(met ? "status:Success" : "status:NoPassive")
  })

  test("that is unknown is named in the error", async () => {
    const { page } = await browserOf(provider).go(requestWithContexts([`${classes}X509`]))
    expect(messageIn(page)).toContain("status:NoAuthnContext")
    expect(messageIn(page)).toContain(`(exact ${classes}X509) contains no supported class`)
  })
})

describe("an application with enforced contexts", () => {
  beforeAll(() => updateApplication(provider.cx(), appId, { saml: { enforceContext: true } }))
  afterAll(() => updateApplication(provider.cx(), appId, { saml: { enforceContext: false } }))

  test("requires the password of a user who signed in with a passkey", async () => {
    const { browser, end } = await withPasskey(requestWithContexts([passwordTransport]))
    expect(end.path).toContain("/ui/login/password")
    const done = await browser.post(end, { loginName: "pat", password })
    expect(classIn(done.page)).toBe(passwordTransport)
    const again = await browser.go(
      requestWithContexts([passwordTransport], "exact", { IsPassive: "true" }),
    )
    expect(classIn(again.page)).toBe(passwordTransport)
  })

  test("requires nothing if a passkey suffices", async () => {
    const { end } = await withPasskey(requestWithContexts([passwordTransport], "minimum"))
    expect(classIn(end.page)).toBe(mfa)
    const any = await withPasskey(redirectPath(authnRequest({ at: provider.clock.now() })))
    expect(classIn(any.end.page)).toBe(mfa)
  })
})

describe("the context of a sign-in", () => {
  const typed = { methods: ["pwd"], secure: true }

  test("is protected on this machine, and over https", async () => {
    const cx = provider.cx()
    const at = async (url: string) => {
      await setPublicUrl(cx, "i1", url)
      return entityOfInstance(cx).secure
    }
    for (const url of ["http://localhost:8080", "http://127.0.0.1:8080", "http://[::1]:8080"]) {
      expect(await at(url), url).toBe(true)
    }
    expect(await at("http://nas.local")).toBe(false)
    expect(await at(issuer)).toBe(true)
  })

  test.each([
    [[passwordTransport], { methods: ["pwd"], secure: false }, "over plain HTTP"],
    [[passwordTransport], { methods: ["pop", "user"], secure: true }, "without a password"],
    [[mfa], typed, "without a second factor"],
  ])("is named if %s requests another one", (options, proved, cause) => {
    expect(selectClass(options, proved)).toBeUndefined()
    expect(describeMismatch(options, proved)).toMatch(
      new RegExp(`^the user signed in ${cause}.*; the request accepts only ${options[0]}$`),
    )
  })
})
