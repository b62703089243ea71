// The end of a session from a SAML identity provider, from either side.
import { createPublicKey, verify, X509Certificate } from "node:crypto"
import { inflateRawSync } from "node:zlib"
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { removeIdp } from "../../src/domain/idp/commands.ts"
import { findIdpById } from "../../src/domain/idp/index.ts"
import { certificateOf } from "../../src/domain/idp/saml/key-pair.ts"
import {
  findSession,
  session,
  sessionEndReactor,
  sessionIdsOf,
} from "../../src/domain/session/index.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { runReactors } from "../../src/store/index.ts"
import {
  authorizePath,
  issuer,
  type NewClient,
  type Provider,
  signedOutUri,
  type VisitedPage,
} from "../oauth/provider.ts"
import {
  createAssertion,
  createLogoutMessage,
  createResponse,
  idpMetadata,
  signXml,
} from "./identity-provider.ts"
import { createKey, openSamlProvider, type ProviderKey, pemOf } from "./service-provider.ts"
import { addSaml, type Browser, newBrowser, postResponse, requestAtProvider } from "./upstream.ts"

const logoutServices =
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
  idpId = await addSaml(provider, idpMetadata([key], { services: logoutServices }), {
    federatedLogout: true,
  })
})
afterEach(() => provider.close())

const now = () => provider.clock.now()

/** Signs ada in; returns her session. */
async function signIn(browser: Browser, values: Parameters<typeof createAssertion>[2] = {}) {
  const asked = await requestAtProvider(browser, client.id)
  const xml = createResponse(
    asked,
    now(),
    signXml(createAssertion(asked, now(), values), { by: key }),
  )
  await postResponse(provider, browser, { xml, asked })
  const cx = provider.cx()
  return sessionIdsOf(cx, findByLoginName(cx, "ada") ?? "").at(-1) ?? ""
}

const statusOf = (id: string) => provider.store.state(provider.cx(), session, id).status

const linkIn = (page: string) =>
  (/<a [^>]*data-when-loaded[^>]*>/.exec(page)?.[0].match(/href="([^"]*)"/)?.[1] ?? "").replaceAll(
    "&amp;",
    "&",
  )

/** The message sent to the provider, with a verified signature. */
function readMessage({ path }: VisitedPage, kind: "SAMLRequest" | "SAMLResponse"): string {
  expect(path.startsWith(`https://idp.example.com/slo?${kind}=`)).toBe(true)
  const found = findIdpById(provider.cx(), idpId)
  if (!found) throw new Error("no message provider is configured")
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

/** Posts a message to our logout endpoint, as the provider's page does. */
async function postMessage(browser: Browser, kind: string, xml: string): Promise<VisitedPage> {
  const body = new URLSearchParams({ [kind]: Buffer.from(xml).toString("base64") })
  return browser.go(`/idps/${idpId}/saml/slo`, { method: "POST", body })
}

const destination = () => `${issuer}/idps/${idpId}/saml/slo`

const logoutRequest = ({ name = "ada-1", index = "_session1", by = key } = {}) => {
  const nameId = `<saml:NameID>${name}</saml:NameID>`
  const inside = `${nameId}<samlp:SessionIndex>${index}</samlp:SessionIndex>`
  const attributes = { Destination: destination() }
  const plain = createLogoutMessage("LogoutRequest", { attributes, inside, now: now() })
  return signXml(plain, { by, of: "LogoutRequest" })
}

describe("a sign-out here", () => {
  const leave = async (browser: Browser) => {
    const asked = { client_id: client.id, post_logout_redirect_uri: signedOutUri }
    const page = await browser.go(`/oidc/v1/end_session?${new URLSearchParams(asked)}`)
    return browser.go(linkIn((await browser.post(page, {})).page))
  }

  test("signs out there as well, and returns to its target", async () => {
    const browser = newBrowser(provider)
    const id = await signIn(browser)
    const at = await leave(browser)
    expect(statusOf(id)).toBe("ended")
    const request = readMessage(at, "SAMLRequest")
    expect(request).toContain(">ada-1</saml:NameID>")
    expect(request).toContain(">_session1</samlp:SessionIndex>")
    expect(request).toContain(`${issuer}/idps/${idpId}/saml/metadata</saml:Issuer>`)
    const inside =
      '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success">' +
      "</samlp:StatusCode></samlp:Status>"
    const attributes = { Destination: destination(), InResponseTo: idIn(request) }
    const plain = createLogoutMessage("LogoutResponse", { attributes, inside, now: now() })
    const unsigned = await postMessage(browser, "SAMLResponse", plain)
    expect(unsigned.page).toContain("must be signed")
    const back = await postMessage(
      browser,
      "SAMLResponse",
      signXml(plain, { by: key, of: "LogoutResponse" }),
    )
    expect(back.path).toBe(signedOutUri)
  })

  test("does not, unless the provider is configured for it", async () => {
    await removeIdp(provider.cx(), undefined, idpId)
    idpId = await addSaml(provider, idpMetadata([key], { services: logoutServices }))
    const browser = newBrowser(provider)
    await signIn(browser)
    const asked = { client_id: client.id, post_logout_redirect_uri: signedOutUri }
    const page = await browser.go(`/oidc/v1/end_session?${new URLSearchParams(asked)}`)
    expect((await browser.post(page, {})).path).toBe(signedOutUri)
    expect((await postMessage(browser, "SAMLRequest", logoutRequest())).response.status).toBe(404)
  })
})

describe("a sign-out there", () => {
  test("signs out here, and the provider gets a response", async () => {
    const browser = newBrowser(provider)
    const id = await signIn(browser)
    const at = await postMessage(browser, "SAMLRequest", logoutRequest())
    expect(statusOf(id)).toBe("ended")
    const response = readMessage(at, "SAMLResponse")
    expect(response).toContain('InResponseTo="_logout1"')
    expect(response).toContain("status:Success")
    expect((await browser.go(authorizePath(client.id))).path).toContain("/ui/login/loginname")
  })

  test("works by a form without our cookie", async () => {
    const id = await signIn(newBrowser(provider))
    await postMessage(newBrowser(provider), "SAMLRequest", logoutRequest())
    expect(statusOf(id)).toBe("ended")
  })

  test("works by a form with the name of one session of that browser", async () => {
    await removeIdp(provider.cx(), undefined, idpId)
    const changes = { federatedLogout: true, transientAttribute: "UserName" }
    idpId = await addSaml(provider, idpMetadata([key], { services: logoutServices }), changes)
    const browser = newBrowser(provider)
    const format = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
    const id = await signIn(browser, { nameId: "_passing", format })
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
    // Another browser lacks the session, and an altered message is rejected.
    expect(readMessage(await newBrowser(provider).go(next), "SAMLResponse")).toContain(
      "status:Success",
    )
    expect((await browser.go(`${next}x`)).page).toContain("This page has expired")
    expect(statusOf(id)).toBe("active")
    expect(readMessage(await browser.go(next), "SAMLResponse")).toContain("status:Success")
    expect(statusOf(id)).toBe("ended")
    provider.clock.advance(61_000)
    expect((await browser.go(next)).page).toContain("This page has expired")
  })

  test.each<[string, () => string]>([
    ["somebody else", () => logoutRequest({ name: "grace-1" })],
    ["another session", () => logoutRequest({ index: "_session2" })],
    ["nobody who signs", () => logoutRequest({ by: other })],
    ["nobody whom we know", () => logoutRequest().replaceAll("idp.example.com", "x.example.com")],
  ])("is %s: the session continues", async (_, make) => {
    const browser = newBrowser(provider)
    const id = await signIn(browser)
    await postMessage(browser, "SAMLRequest", make())
    expect(statusOf(id)).toBe("active")
  })
})

describe("a provider that is removed", () => {
  test("ends the sessions that it alone has verified, immediately", async () => {
    const id = await signIn(newBrowser(provider))
    expect(findSession(provider.cx(), id)).toBeDefined()
    const call = (instance: string) => provider.cx({ instance })
    const running = runReactors(provider.store, provider.clock, [sessionEndReactor(call)])
    await removeIdp(provider.cx(), undefined, idpId)
    expect(findSession(provider.cx(), id)).toBeUndefined()
    await running.drain()
    expect(statusOf(id)).toBe("ended")
    await running.stop()
  })
})
