// The end of a session that came from a provider which speaks SAML, whoever begins it.
import { createPublicKey, verify, X509Certificate } from "node:crypto"
import { inflateRawSync } from "node:zlib"
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { removeIdp } from "../../src/domain/idp/commands.ts"
import { idpById } from "../../src/domain/idp/index.ts"
import { certificateOf } from "../../src/domain/idp/saml/pair.ts"
import { session, sessionEnds, sessionNow, sessionsOf } from "../../src/domain/session/index.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { runReactors } from "../../src/store/index.ts"
import {
  authorizePath,
  issuer,
  type NewClient,
  type Provider,
  signedOutUri,
  type Visited,
} from "../oauth/provider.ts"
import {
  assertionFor,
  idpMetadata,
  logoutMessage,
  responseFor,
  signedXml,
} from "./identity-provider.ts"
import { createKey, openSamlProvider, type ProviderKey, pemOf } from "./service-provider.ts"
import { addSaml, askedFor, type Browser, bring, newBrowser } from "./upstream.ts"

const services =
  '<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"' +
  ' Location="https://idp.example.com/slo"></md:SingleLogoutService>'
let key: ProviderKey
let other: ProviderKey
beforeAll(async () => {
  key = await createKey()
  other = await createKey()
})
let provider: Provider
let client: NewClient
let idpId: string
beforeEach(async () => {
  provider = await openSamlProvider()
  client = await provider.addClient()
  idpId = await addSaml(provider, idpMetadata([key], { services }), { federatedLogout: true })
})
afterEach(() => provider.close())

const now = () => provider.clock.now()

/** Signs ada in; answers her session. */
async function enter(browser: Browser, said: Parameters<typeof assertionFor>[2] = {}) {
  const asked = await askedFor(browser, client.id)
  const xml = responseFor(asked, now(), signedXml(assertionFor(asked, now(), said), { by: key }))
  await bring(provider, browser, { xml, asked })
  const cx = provider.cx()
  return sessionsOf(cx, findByLoginName(cx, "ada") ?? "").at(-1) ?? ""
}

const statusOf = (id: string) => provider.store.state(provider.cx(), session, id).status

const linkIn = (page: string) =>
  (/<a [^>]*data-when-loaded[^>]*>/.exec(page)?.[0].match(/href="([^"]*)"/)?.[1] ?? "").replaceAll(
    "&amp;",
    "&",
  )

/** What the provider is sent, whose signature it checks. */
function read({ path }: Visited, kind: "SAMLRequest" | "SAMLResponse"): string {
  expect(path.startsWith(`https://idp.example.com/slo?${kind}=`)).toBe(true)
  const found = idpById(provider.cx(), idpId)
  if (!found) throw new Error("there is no provider")
  const { publicKey } = new X509Certificate(pemOf(certificateOf(provider.cx(), found)))
  const [signed = "", signature = ""] = new URL(path).search.slice(1).split("&Signature=")
  const bytes = Buffer.from(decodeURIComponent(signature), "base64")
  expect(
    verify(
      "sha256",
      Buffer.from(signed),
      createPublicKey(publicKey.export({ format: "pem", type: "spki" })),
      bytes,
    ),
  ).toBe(true)
  const message = new URL(path).searchParams.get(kind) ?? ""
  return inflateRawSync(Buffer.from(message, "base64")).toString()
}

const idIn = (xml: string) => / ID="([^"]*)"/.exec(xml)?.[1] ?? ""

/** Posts a message to our address for sign-outs, as the page of the provider would. */
async function tell(browser: Browser, kind: string, xml: string): Promise<Visited> {
  const body = new URLSearchParams({ [kind]: Buffer.from(xml).toString("base64") })
  return browser.go(`/idps/${idpId}/saml/slo`, { method: "POST", body })
}

const destination = () => `${issuer}/idps/${idpId}/saml/slo`

const logoutRequest = ({ name = "ada-1", index = "_session1", by = key } = {}) => {
  const nameId = `<saml:NameID>${name}</saml:NameID>`
  const inside = `${nameId}<samlp:SessionIndex>${index}</samlp:SessionIndex>`
  const attributes = { Destination: destination() }
  const plain = logoutMessage("LogoutRequest", { attributes, inside, now: now() })
  return signedXml(plain, { by, of: "LogoutRequest" })
}

describe("who signs out here", () => {
  const leave = async (browser: Browser) => {
    const asked = { client_id: client.id, post_logout_redirect_uri: signedOutUri }
    const page = await browser.go(`/oidc/v1/end_session?${new URLSearchParams(asked)}`)
    return browser.go(linkIn((await browser.post(page, {})).page))
  }

  test("signs out there, too, and comes back to where they were to go", async () => {
    const browser = newBrowser(provider)
    const id = await enter(browser)
    const at = await leave(browser)
    expect(statusOf(id)).toBe("ended")
    const request = read(at, "SAMLRequest")
    expect(request).toContain(">ada-1</saml:NameID>")
    expect(request).toContain(">_session1</samlp:SessionIndex>")
    expect(request).toContain(`${issuer}/idps/${idpId}/saml/metadata</saml:Issuer>`)
    const inside =
      '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success">' +
      "</samlp:StatusCode></samlp:Status>"
    const attributes = { Destination: destination(), InResponseTo: idIn(request) }
    const plain = logoutMessage("LogoutResponse", { attributes, inside, now: now() })
    const unsigned = await tell(browser, "SAMLResponse", plain)
    expect(unsigned.page).toContain("must be signed")
    const back = await tell(
      browser,
      "SAMLResponse",
      signedXml(plain, { by: key, of: "LogoutResponse" }),
    )
    expect(back.path).toBe(signedOutUri)
  })

  test("does not, where the provider isn't set up so", async () => {
    await removeIdp(provider.cx(), undefined, idpId)
    idpId = await addSaml(provider, idpMetadata([key], { services }))
    const browser = newBrowser(provider)
    await enter(browser)
    const asked = { client_id: client.id, post_logout_redirect_uri: signedOutUri }
    const page = await browser.go(`/oidc/v1/end_session?${new URLSearchParams(asked)}`)
    expect((await browser.post(page, {})).path).toBe(signedOutUri)
    expect((await tell(browser, "SAMLRequest", logoutRequest())).response.status).toBe(404)
  })
})

describe("who signs out there", () => {
  test("signs out here, and the provider is told so", async () => {
    const browser = newBrowser(provider)
    const id = await enter(browser)
    const at = await tell(browser, "SAMLRequest", logoutRequest())
    expect(statusOf(id)).toBe("ended")
    const response = read(at, "SAMLResponse")
    expect(response).toContain('InResponseTo="_logout1"')
    expect(response).toContain("status:Success")
    expect((await browser.go(authorizePath(client.id))).path).toContain("/ui/login/loginname")
  })

  test("does so by a form, which brings no cookie of ours", async () => {
    const id = await enter(newBrowser(provider))
    await tell(newBrowser(provider), "SAMLRequest", logoutRequest())
    expect(statusOf(id)).toBe("ended")
  })

  test("does so by a form and a name for one session, which the browser alone knows", async () => {
    await removeIdp(provider.cx(), undefined, idpId)
    const changes = { federatedLogout: true, transientAttribute: "UserName" }
    idpId = await addSaml(provider, idpMetadata([key], { services }), changes)
    const browser = newBrowser(provider)
    const format = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
    const id = await enter(browser, { nameId: "_passing", format })
    const body = new URLSearchParams({
      SAMLRequest: Buffer.from(logoutRequest({ name: "_passing" })).toString("base64"),
    })
    const sent = await provider.send(`/idps/${idpId}/saml/slo`, { method: "POST", body })
    const next = sent.headers.get("location") ?? ""
    expect([sent.status, statusOf(id), next]).toEqual([
      303,
      "active",
      expect.stringContaining(`/idps/${idpId}/saml/slo?carried=`),
    ])
    // Whoever else opens it has no such session, and what is changed is nothing.
    expect(read(await newBrowser(provider).go(next), "SAMLResponse")).toContain("status:Success")
    expect((await browser.go(`${next}x`)).page).toContain("This page has expired")
    expect(statusOf(id)).toBe("active")
    expect(read(await browser.go(next), "SAMLResponse")).toContain("status:Success")
    expect(statusOf(id)).toBe("ended")
    provider.clock.advance(61_000)
    expect((await browser.go(next)).page).toContain("This page has expired")
  })

  test.each<[string, () => string]>([
    ["somebody else", () => logoutRequest({ name: "grace-1" })],
    ["another session", () => logoutRequest({ index: "_session2" })],
    ["nobody who signs", () => logoutRequest({ by: other })],
    ["nobody whom we know", () => logoutRequest().replaceAll("idp.example.com", "x.example.com")],
  ])("is %s: the session goes on", async (_, make) => {
    const browser = newBrowser(provider)
    const id = await enter(browser)
    await tell(browser, "SAMLRequest", make())
    expect(statusOf(id)).toBe("active")
  })
})

describe("a provider that is removed", () => {
  test("takes the sessions with it that it alone has vouched for, at once", async () => {
    const id = await enter(newBrowser(provider))
    expect(sessionNow(provider.cx(), id)).toBeDefined()
    const call = (instance: string) => provider.cx({ instance })
    const running = runReactors(provider.store, provider.clock, [sessionEnds(call)])
    await removeIdp(provider.cx(), undefined, idpId)
    expect(sessionNow(provider.cx(), id)).toBeUndefined()
    await running.drain()
    expect(statusOf(id)).toBe("ended")
    await running.stop()
  })
})
