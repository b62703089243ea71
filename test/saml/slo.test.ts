import { createPublicKey, verify } from "node:crypto"
import { inflateRawSync } from "node:zlib"
import type { Profile, SAML } from "@node-saml/node-saml"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { session } from "../../src/domain/session/index.ts"
import {
  authorizePath,
  browserOf,
  issuer,
  type Provider,
  type VisitedPage,
} from "../oauth/provider.ts"
import { createLogoutMessage, idpEntity, signXml } from "./identity-provider.ts"
import {
  addServiceProvider,
  createKey,
  idpId,
  nodeSaml,
  openSamlProvider,
  type ProviderKey,
  pathOf,
  postedFields,
} from "./service-provider.ts"

const first = "https://first.example.com"
const second = "https://second.example.com"
const noLogout = "https://mute.example.com"
let provider: Provider
let key: ProviderKey
const peers = new Map<string, SAML>()
beforeAll(async () => {
  provider = await openSamlProvider()
  key = await createKey()
  for (const entityId of [first, second, noLogout]) {
    const logout = `<md:SingleLogoutService Location="${entityId}/slo"
      Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"/>`
    const described = { entityId, signing: key.certificate }
    await addServiceProvider(provider, {
      ...described,
      logout: entityId === noLogout ? "" : logout,
    })
    const sp = await nodeSaml(provider, {
      issuer: entityId,
      audience: entityId,
      privateKey: key.privatePem,
      ...({ signatureAlgorithm: "sha256", digestAlgorithm: "sha256" } as const),
    })
    peers.set(entityId, sp)
  }
  await provider.addPerson("pat")
})
afterAll(() => provider.close())

const peer = (entityId: string): SAML => {
  const found = peers.get(entityId)
  if (!found) throw new Error("service provider not found")
  return found
}

type Browser = ReturnType<typeof browserOf>

/** Signs pat in to a service provider; returns the profile that it received. */
async function signIn(browser: Browser, entityId: string): Promise<Profile> {
  const path = pathOf(await peer(entityId).getAuthorizeUrlAsync("", "", {}))
  const at = await browser.go(path)
  const there = postedFields(at.page).SAMLResponse ? at : await browser.signIn(path, "pat")
  const { profile } = await peer(entityId).validatePostResponseAsync(postedFields(there.page))
  if (!profile) throw new Error("no sign-in")
  return profile
}

const logoutPath = async (entityId: string, profile: Profile, relayState = "") =>
  pathOf(await peer(entityId).getLogoutUrlAsync(profile, relayState, {}))

const parametersOf = ({ path }: VisitedPage) => Object.fromEntries(new URL(path).searchParams)

const xmlOf = (base64 = "") => inflateRawSync(Buffer.from(base64, "base64")).toString()

/**
 * The message in the redirect URL, with a verified signature. The library can't verify it under
 * this runtime, which names the algorithm differently.
 */
async function readMessage(entityId: string, at: VisitedPage) {
  expect(at.path.startsWith(`${entityId}/slo?`)).toBe(true)
  const pem = await (await provider.send("/saml/v2/certificate")).text()
  const [signed = "", signature = ""] = new URL(at.path).search.slice(1).split("&Signature=")
  const bytes = Buffer.from(decodeURIComponent(signature), "base64")
  expect(verify("sha256", Buffer.from(signed), createPublicKey(pem), bytes)).toBe(true)
  const { SAMLRequest, SAMLResponse } = parametersOf(at)
  const xml = xmlOf(SAMLRequest ?? SAMLResponse)
  const [, ID = ""] = / ID="([^"]*)"/.exec(xml) ?? []
  const loggedOut = xml.includes(':status:Success"/>') || xml.includes(':status:Success"></')
  return { loggedOut, profile: { issuer: idpId, nameID: "", nameIDFormat: "", ID } }
}

/** Responds to our request as the service provider does; returns the next page. */
async function respond(browser: Browser, entityId: string, at: VisitedPage, isDone = true) {
  const { profile } = await readMessage(entityId, at)
  const url = await peer(entityId).getLogoutResponseUrlAsync(profile, "", {}, isDone)
  return browser.go(pathOf(url))
}

const linkIn = (page: string) =>
  (/<a [^>]*data-when-loaded[^>]*>/.exec(page)?.[0].match(/href="([^"]*)"/)?.[1] ?? "").replaceAll(
    "&amp;",
    "&",
  )

const hasEnded = ({ sessionIndex = "" }: Profile) =>
  provider.store.state(provider.cx(), session, sessionIndex).status === "ended"

describe("a sign-out that a service provider starts", () => {
  test("ends the session here, and gets a response", async () => {
    const browser = browserOf(provider)
    const profile = await signIn(browser, first)
    const at = await browser.go(await logoutPath(first, profile, "bye"))
    expect(at.path.startsWith(`${first}/slo?SAMLResponse=`)).toBe(true)
    expect(parametersOf(at).RelayState).toBe("bye")
    expect(await readMessage(first, at)).toMatchObject({ loggedOut: true })
    expect(hasEnded(profile)).toBe(true)
    const silent = await browser.go(authorizePath((await provider.addClient()).id))
    expect(silent.path).toContain("/ui/login/loginname")
  })

  test("works by a form without our cookie, with a session index", async () => {
    const browser = browserOf(provider)
    const profile = await signIn(browser, first)
    const named = `<saml:NameID>${profile.nameID}</saml:NameID>`
    const attributes = { Destination: `${issuer}/saml/v2/SLO` }
    const plain = createLogoutMessage("LogoutRequest", {
      attributes,
      inside: named,
      now: Date.now(),
    })
    const of = "LogoutRequest"
    const xml = signXml(plain.replace(idpEntity, first), { by: key, of })
    const body = new URLSearchParams({ SAMLRequest: Buffer.from(xml).toString("base64") })
    const sent = await provider.send("/saml/v2/SLO", { method: "POST", body })
    const next = sent.headers.get("location") ?? ""
    expect(next).toMatch(/^\/saml\/v2\/SLO\?carried=/)
    const other = await browserOf(provider).go(next)
    expect(xmlOf(parametersOf(other).SAMLResponse)).toContain("status:UnknownPrincipal")
    expect(hasEnded(profile)).toBe(false)
    expect(await readMessage(first, await browser.go(next))).toMatchObject({ loggedOut: true })
    expect(hasEnded(profile)).toBe(true)
  })

  test("notifies the other providers, one after the other", async () => {
    const browser = browserOf(provider)
    const profile = await signIn(browser, first)
    await signIn(browser, second)
    const at = await browser.go(await logoutPath(first, profile))
    expect(at.path.startsWith(`${second}/slo?SAMLRequest=`)).toBe(true)
    expect(hasEnded(profile)).toBe(true)
    const back = await respond(browser, second, at)
    expect(await readMessage(first, back)).toMatchObject({ loggedOut: true })
    expect(xmlOf(parametersOf(back).SAMLResponse)).not.toContain("PartialLogout")
  })

  test("lists providers that could not be notified", async () => {
    const browser = browserOf(provider)
    const profile = await signIn(browser, first)
    await signIn(browser, noLogout)
    const back = await browser.go(await logoutPath(first, profile))
    expect(xmlOf(parametersOf(back).SAMLResponse)).toContain("status:PartialLogout")
  })

  test("applies only to the named user, and must be signed", async () => {
    const browser = browserOf(provider)
    const profile = await signIn(browser, first)
    const foreign = await browser.go(await logoutPath(first, { ...profile, nameID: "somebody" }))
    expect(foreign.path).toContain(`${first}/slo`)
    expect(hasEnded(profile)).toBe(false)
    const elsewhere = await browser.go(await logoutPath(second, profile))
    expect(elsewhere.path).toContain(`${second}/slo`)
    expect(hasEnded(profile)).toBe(false)
    const unsigned = await nodeSaml(provider, { issuer: first })
    const url = await unsigned.getLogoutUrlAsync(profile, "", {})
    const refused = await browser.go(pathOf(url))
    expect(xmlOf(parametersOf(refused).SAMLResponse)).toContain("status:RequestDenied")
    expect(hasEnded(profile)).toBe(false)
  })
})

describe("a sign-out that starts elsewhere", () => {
  test("visits the service providers, and continues to its target", async () => {
    const client = await provider.addClient()
    const browser = browserOf(provider)
    const profile = await signIn(browser, first)
    const asked = { client_id: client.id, post_logout_redirect_uri: "https://app.example.com/bye" }
    const page = await browser.go(`/oidc/v1/end_session?${new URLSearchParams(asked)}`)
    const passing = await browser.post(page, {})
    const at = await browser.go(linkIn(passing.page))
    expect(at.path.startsWith(`${first}/slo?SAMLRequest=`)).toBe(true)
    expect(hasEnded(profile)).toBe(true)
    expect(xmlOf(parametersOf(at).SAMLRequest)).toContain(`>${profile.sessionIndex}<`)
    const end = await respond(browser, first, at, false)
    expect(end.path).toBe("https://app.example.com/bye")
  })

  test("accepts no response for another provider, and hides the others' messages", async () => {
    const browser = browserOf(provider)
    const profile = await signIn(browser, first)
    await signIn(browser, second)
    const at = await browser.go(await logoutPath(first, profile))
    const { profile: asked } = await readMessage(second, at)
    // A provider with a signing key must sign.
    const unsigned = await nodeSaml(provider, { issuer: second })
    const forged = pathOf(await unsigned.getLogoutResponseUrlAsync(asked, "", {}, true))
    const refused = await browserOf(provider).go(forged)
    expect(refused.response.status).toBe(400)
    expect(refused.page).toContain("is not signed")
    // The request of one provider must not reveal those of the others.
    for (const id of [asked.ID, asked.ID.slice(1), asked.ID.split(".")[0] ?? ""]) {
      const opened = await browserOf(provider).go(`/saml/v2/SLO?logout=${encodeURIComponent(id)}`)
      expect(opened.path).toContain("/saml/v2/SLO")
      expect(opened.page).not.toContain("SAMLRequest")
    }
    const right = pathOf(await peer(second).getLogoutResponseUrlAsync(asked, "", {}, true))
    expect((await browser.go(right)).path).toContain(`${first}/slo`)
  })

  test("accepts only requested responses, once", async () => {
    const browser = browserOf(provider)
    const profile = await signIn(browser, first)
    await signIn(browser, second)
    const at = await browser.go(await logoutPath(first, profile))
    const { profile: asked } = await readMessage(second, at)
    const wrong = await peer(first).getLogoutResponseUrlAsync(asked, "", {}, true)
    expect((await browser.go(pathOf(wrong))).page).toContain("InResponseTo matches no request")
    const right = pathOf(await peer(second).getLogoutResponseUrlAsync(asked, "", {}, true))
    expect((await browser.go(right)).path).toContain(`${first}/slo`)
    expect((await browser.go(right)).page).toContain("InResponseTo matches no request")
    const made = await peer(second).getLogoutResponseUrlAsync(
      { ...profile, ID: "_made-up-made-up-made-up.1" },
      ...(["", {}, true] as const),
    )
    expect((await browser.go(pathOf(made))).response.status).toBe(400)
    expect(new URL(made).origin).toBe(issuer)
  })
})
