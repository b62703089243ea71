import { createPublicKey, verify } from "node:crypto"
import { inflateRawSync } from "node:zlib"
import type { Profile, SAML } from "@node-saml/node-saml"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { session } from "../../src/domain/session/index.ts"
import { authorizePath, browserOf, issuer, type Provider, type Visited } from "../oauth/provider.ts"
import { idpEntity, logoutMessage, signedXml } from "./identity-provider.ts"
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
const mute = "https://mute.example.com"
let provider: Provider
let key: ProviderKey
const peers = new Map<string, SAML>()
beforeAll(async () => {
  provider = await openSamlProvider()
  key = await createKey()
  for (const entityId of [first, second, mute]) {
    const logout = `<md:SingleLogoutService Location="${entityId}/slo"
      Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"/>`
    const described = { entityId, signing: key.certificate }
    await addServiceProvider(provider, { ...described, logout: entityId === mute ? "" : logout })
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
  if (!found) throw new Error("no such service provider")
  return found
}

type Browser = ReturnType<typeof browserOf>

/** Signs pat in to a service provider; answers what that has learned. */
async function enter(browser: Browser, entityId: string): Promise<Profile> {
  const path = pathOf(await peer(entityId).getAuthorizeUrlAsync("", "", {}))
  const at = await browser.go(path)
  const there = postedFields(at.page).SAMLResponse ? at : await browser.signIn(path, "pat")
  const { profile } = await peer(entityId).validatePostResponseAsync(postedFields(there.page))
  if (!profile) throw new Error("nobody signed in")
  return profile
}

const logoutPath = async (entityId: string, profile: Profile, relayState = "") =>
  pathOf(await peer(entityId).getLogoutUrlAsync(profile, relayState, {}))

const parametersOf = ({ path }: Visited) => Object.fromEntries(new URL(path).searchParams)

const xmlOf = (base64 = "") => inflateRawSync(Buffer.from(base64, "base64")).toString()

/**
 * What a service provider is told by the address that it is sent to, whose signature it checks.
 * The library can't do that under this runtime, which calls the algorithm otherwise.
 */
async function read(entityId: string, at: Visited) {
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

/** Answers our request as the service provider does; where that leads. */
async function answered(browser: Browser, entityId: string, at: Visited, isDone = true) {
  const { profile } = await read(entityId, at)
  const url = await peer(entityId).getLogoutResponseUrlAsync(profile, "", {}, isDone)
  return browser.go(pathOf(url))
}

const linkIn = (page: string) =>
  (/<a [^>]*data-when-loaded[^>]*>/.exec(page)?.[0].match(/href="([^"]*)"/)?.[1] ?? "").replaceAll(
    "&amp;",
    "&",
  )

const isOver = ({ sessionIndex = "" }: Profile) =>
  provider.store.state(provider.cx(), session, sessionIndex).status === "ended"

describe("a sign-out that a service provider begins", () => {
  test("ends the session here, and is answered", async () => {
    const browser = browserOf(provider)
    const profile = await enter(browser, first)
    const at = await browser.go(await logoutPath(first, profile, "bye"))
    expect(at.path.startsWith(`${first}/slo?SAMLResponse=`)).toBe(true)
    expect(parametersOf(at).RelayState).toBe("bye")
    expect(await read(first, at)).toMatchObject({ loggedOut: true })
    expect(isOver(profile)).toBe(true)
    const silent = await browser.go(authorizePath((await provider.addClient()).id))
    expect(silent.path).toContain("/ui/login/loginname")
  })

  test("is found by a form without our cookie, when it names no session", async () => {
    const browser = browserOf(provider)
    const profile = await enter(browser, first)
    const named = `<saml:NameID>${profile.nameID}</saml:NameID>`
    const attributes = { Destination: `${issuer}/saml/v2/SLO` }
    const plain = logoutMessage("LogoutRequest", { attributes, inside: named, now: Date.now() })
    const of = "LogoutRequest"
    const xml = signedXml(plain.replace(idpEntity, first), { by: key, of })
    const body = new URLSearchParams({ SAMLRequest: Buffer.from(xml).toString("base64") })
    const sent = await provider.send("/saml/v2/SLO", { method: "POST", body })
    const next = sent.headers.get("location") ?? ""
    expect(next).toMatch(/^\/saml\/v2\/SLO\?carried=/)
    const other = await browserOf(provider).go(next)
    expect(xmlOf(parametersOf(other).SAMLResponse)).toContain("status:UnknownPrincipal")
    expect(isOver(profile)).toBe(false)
    expect(await read(first, await browser.go(next))).toMatchObject({ loggedOut: true })
    expect(isOver(profile)).toBe(true)
  })

  test("tells the others, one after the other", async () => {
    const browser = browserOf(provider)
    const profile = await enter(browser, first)
    await enter(browser, second)
    const at = await browser.go(await logoutPath(first, profile))
    expect(at.path.startsWith(`${second}/slo?SAMLRequest=`)).toBe(true)
    expect(isOver(profile)).toBe(true)
    const back = await answered(browser, second, at)
    expect(await read(first, back)).toMatchObject({ loggedOut: true })
    expect(xmlOf(parametersOf(back).SAMLResponse)).not.toContain("PartialLogout")
  })

  test("says who could not be told", async () => {
    const browser = browserOf(provider)
    const profile = await enter(browser, first)
    await enter(browser, mute)
    const back = await browser.go(await logoutPath(first, profile))
    expect(xmlOf(parametersOf(back).SAMLResponse)).toContain("status:PartialLogout")
  })

  test("is of whom it names alone, and of who signed it", async () => {
    const browser = browserOf(provider)
    const profile = await enter(browser, first)
    const foreign = await browser.go(await logoutPath(first, { ...profile, nameID: "somebody" }))
    expect(foreign.path).toContain(`${first}/slo`)
    expect(isOver(profile)).toBe(false)
    const elsewhere = await browser.go(await logoutPath(second, profile))
    expect(elsewhere.path).toContain(`${second}/slo`)
    expect(isOver(profile)).toBe(false)
    const unsigned = await nodeSaml(provider, { issuer: first })
    const url = await unsigned.getLogoutUrlAsync(profile, "", {})
    const refused = await browser.go(pathOf(url))
    expect(xmlOf(parametersOf(refused).SAMLResponse)).toContain("status:RequestDenied")
    expect(isOver(profile)).toBe(false)
  })
})

describe("a sign-out that begins elsewhere", () => {
  test("goes past the service providers, and on to where it was to go", async () => {
    const client = await provider.addClient()
    const browser = browserOf(provider)
    const profile = await enter(browser, first)
    const asked = { client_id: client.id, post_logout_redirect_uri: "https://app.example.com/bye" }
    const page = await browser.go(`/oidc/v1/end_session?${new URLSearchParams(asked)}`)
    const passing = await browser.post(page, {})
    const at = await browser.go(linkIn(passing.page))
    expect(at.path.startsWith(`${first}/slo?SAMLRequest=`)).toBe(true)
    expect(isOver(profile)).toBe(true)
    expect(xmlOf(parametersOf(at).SAMLRequest)).toContain(`>${profile.sessionIndex}<`)
    const end = await answered(browser, first, at, false)
    expect(end.path).toBe("https://app.example.com/bye")
  })

  test("lets nobody answer for another, nor read what others are told", async () => {
    const browser = browserOf(provider)
    const profile = await enter(browser, first)
    await enter(browser, second)
    const at = await browser.go(await logoutPath(first, profile))
    const { profile: asked } = await read(second, at)
    // Who has a key to sign with has to.
    const unsigned = await nodeSaml(provider, { issuer: second })
    const forged = pathOf(await unsigned.getLogoutResponseUrlAsync(asked, "", {}, true))
    const refused = await browserOf(provider).go(forged)
    expect(refused.response.status).toBe(400)
    expect(refused.page).toContain("is not signed")
    // What somebody is told does not open what the others are told.
    for (const id of [asked.ID, asked.ID.slice(1), asked.ID.split(".")[0] ?? ""]) {
      const opened = await browserOf(provider).go(`/saml/v2/SLO?logout=${encodeURIComponent(id)}`)
      expect(opened.path).toContain("/saml/v2/SLO")
      expect(opened.page).not.toContain("SAMLRequest")
    }
    const right = pathOf(await peer(second).getLogoutResponseUrlAsync(asked, "", {}, true))
    expect((await browser.go(right)).path).toContain(`${first}/slo`)
  })

  test("takes no answer that it has not asked for, and none twice", async () => {
    const browser = browserOf(provider)
    const profile = await enter(browser, first)
    await enter(browser, second)
    const at = await browser.go(await logoutPath(first, profile))
    const { profile: asked } = await read(second, at)
    const wrong = await peer(first).getLogoutResponseUrlAsync(asked, "", {}, true)
    expect((await browser.go(pathOf(wrong))).page).toContain("names no request of ours")
    const right = pathOf(await peer(second).getLogoutResponseUrlAsync(asked, "", {}, true))
    expect((await browser.go(right)).path).toContain(`${first}/slo`)
    expect((await browser.go(right)).page).toContain("names no request of ours")
    const made = await peer(second).getLogoutResponseUrlAsync(
      { ...profile, ID: "_made-up-made-up-made-up.1" },
      ...(["", {}, true] as const),
    )
    expect((await browser.go(pathOf(made))).response.status).toBe(400)
    expect(new URL(made).origin).toBe(issuer)
  })
})
