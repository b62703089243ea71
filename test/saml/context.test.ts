// RequestedAuthnContext: what toolkits ask for by default, and what is enforced.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { changeApplication } from "../../src/domain/app/index.ts"
import { beginKey, finishKey } from "../../src/domain/factor/key/key.ts"
import { setPublicUrl } from "../../src/domain/instance/index.ts"
import { selfOf } from "../../src/saml/path.ts"
import { contextOf, mismatchOf } from "../../src/saml/request/context.ts"
import { browserOf, issuer, type Provider, password } from "../oauth/provider.ts"
import { type Authenticator, makeKey } from "../support/authenticator.ts"
import { authnRequest, redirectPath } from "./asking.ts"
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
  key = makeKey(options, { origin: issuer })
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
const transport = `${classes}PasswordProtectedTransport`

const asking = (names: readonly string[], comparison = "exact", attributes = {}) => {
  const refs = names.map((name) => `<saml:AuthnContextClassRef>${name}</saml:AuthnContextClassRef>`)
  const inside =
    `<samlp:RequestedAuthnContext Comparison="${comparison}">${refs.join("")}` +
    "</samlp:RequestedAuthnContext>"
  return redirectPath(authnRequest({ inside, attributes, at: provider.clock.now() }))
}

/** Signs pat in with the passkey, on the way that a request leads. */
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

describe("a context that asks for no more than a password", () => {
  test("is what node-saml asks for by default, and believes a passkey", async () => {
    const sp = await nodeSaml(provider, { disableRequestedAuthnContext: false })
    const { end } = await withPasskey(pathOf(await sp.getAuthorizeUrlAsync("", "", {})))
    const { profile } = await sp.validatePostResponseAsync(postedFields(end.page))
    expect(profile).toMatchObject({ issuer: `${issuer}/saml/v2/metadata`, UserName: "pat" })
    expect(classIn(end.page)).toBe(mfa)
  })

  test.each([
    [[transport], "exact"],
    [[`${classes}Password`], "minimum"],
    [[`${classes}unspecified`, transport], "exact"],
    [[`${classes}Password`], "maximum"],
  ])("is answered with what the sign-in was: %s, %s", async (names, comparison) => {
    const { end } = await withPasskey(asking(names, comparison))
    expect(end.page).toContain("SAMLResponse")
    expect(messageIn(end.page)).toContain("status:Success")
  })

  test("is met where that is possible", async () => {
    const browser = browserOf(provider)
    const end = await browser.signIn(asking([transport]), "kim")
    expect(classIn(end.page)).toBe(transport)
  })
})

describe("a context that asks for more", () => {
  test.each([
    [[mfa], "exact"],
    [[transport], "better"],
    [[mfa, transport], "exact"],
  ])("is enforced: %s, %s", async (names, comparison) => {
    const path = asking(names, comparison, { IsPassive: "true" })
    const { browser } = await withPasskey(asking([transport]))
    expect(messageIn((await browser.go(path)).page)).toContain("status:Success")
    const other = browserOf(provider)
    await other.signIn(asking([transport]), "kim")
    const { page } = await other.go(path)
    const met = names.includes(transport) && comparison === "exact"
    expect(messageIn(page)).toContain(met ? "status:Success" : "status:NoPassive")
  })

  test("that nobody has here is named in the refusal", async () => {
    const { page } = await browserOf(provider).go(asking([`${classes}X509`]))
    expect(messageIn(page)).toContain("status:NoAuthnContext")
    expect(messageIn(page)).toContain(`(exact ${classes}X509) names no class that is supported`)
  })
})

describe("an application that has contexts enforced", () => {
  beforeAll(() => changeApplication(provider.cx(), appId, { saml: { enforceContext: true } }))
  afterAll(() => changeApplication(provider.cx(), appId, { saml: { enforceContext: false } }))

  test("has the password asked of who signed in with a passkey", async () => {
    const { browser, end } = await withPasskey(asking([transport]))
    expect(end.path).toContain("/ui/login/password")
    const done = await browser.post(end, { loginName: "pat", password })
    expect(classIn(done.page)).toBe(transport)
    const again = await browser.go(asking([transport], "exact", { IsPassive: "true" }))
    expect(classIn(again.page)).toBe(transport)
  })

  test("has nobody asked where a passkey will do", async () => {
    const { end } = await withPasskey(asking([transport], "minimum"))
    expect(classIn(end.page)).toBe(mfa)
    const any = await withPasskey(redirectPath(authnRequest({ at: provider.clock.now() })))
    expect(classIn(any.end.page)).toBe(mfa)
  })
})

describe("what a sign-in was", () => {
  const typed = { methods: ["pwd"], secure: true }

  test("was protected on this machine, and over https", async () => {
    const cx = provider.cx()
    const at = async (url: string) => {
      await setPublicUrl(cx, "i1", url)
      return selfOf(cx).secure
    }
    for (const url of ["http://localhost:8080", "http://127.0.0.1:8080", "http://[::1]:8080"]) {
      expect(await at(url), url).toBe(true)
    }
    expect(await at("http://nas.local")).toBe(false)
    expect(await at(issuer)).toBe(true)
  })

  test.each([
    [[transport], { methods: ["pwd"], secure: false }, "over plain HTTP"],
    [[transport], { methods: ["pop", "user"], secure: true }, "without a password"],
    [[mfa], typed, "without a second factor"],
  ])("is named where %s asks for something else", (wanted, proved, cause) => {
    expect(contextOf(wanted, proved)).toBeUndefined()
    expect(mismatchOf(wanted, proved)).toMatch(
      new RegExp(`^the user signed in ${cause}.*; the request accepts only ${wanted[0]}$`),
    )
  })
})
