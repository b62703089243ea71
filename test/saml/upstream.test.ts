// Signing in with an identity provider that speaks SAML.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { idpById } from "../../src/domain/idp/index.ts"
import { certificateOf } from "../../src/domain/idp/saml/pair.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { profile } from "../../src/domain/user-lookup/query.ts"
import { answerOf, issuer, type NewClient, type Provider } from "../oauth/provider.ts"
import {
  type Asked,
  ada,
  assertionFor,
  encryptedXml,
  idpMetadata,
  responseFor,
  type Said,
  signedXml,
} from "./identity-provider.ts"
import { createKey, openSamlProvider, type ProviderKey } from "./service-provider.ts"
import { addSaml, askedFor, away, bring, newBrowser } from "./upstream.ts"

let provider: Provider
let client: NewClient
let key: ProviderKey
let idpId: string
beforeAll(async () => {
  provider = await openSamlProvider()
  client = await provider.addClient()
  key = await createKey()
  idpId = await addSaml(provider, idpMetadata([key]))
})
afterAll(() => provider.close())

let people = 0
/** Somebody new. */
const person = (): Said => {
  const name = `person${++people}`
  const attributes = { ...ada, Email: `${name}@example.com`, UserName: name }
  return { nameId: `${name}-id`, attributes }
}

const now = () => provider.clock.now()
const respond = (asked: Asked, said: Said): string =>
  responseFor(asked, now(), signedXml(assertionFor(asked, now(), said), { by: key }), said)

describe("a response", () => {
  test("signs in whom the provider names, and makes their account", async () => {
    const browser = newBrowser(provider)
    const asked = await askedFor(browser, client.id)
    expect(asked).toMatchObject({
      issuer: `${issuer}/idps/${idpId}/saml/metadata`,
      acs: `${issuer}/idps/${idpId}/saml/acs`,
    })
    expect(asked.parameters.get("Signature")).not.toBeNull()
    const said = person()
    const end = await bring(provider, browser, { xml: respond(asked, said), asked })
    expect(answerOf(end)).toHaveProperty("code")
    const userId = findByLoginName(provider.cx(), `person${people}`) ?? ""
    expect(profile(provider.cx(), userId)).toMatchObject({
      givenName: "Ada",
      familyName: "Lovelace",
      email: `person${people}@example.com`,
      emailVerified: false,
    })
    // The same person again.
    const again = newBrowser(provider)
    const second = await askedFor(again, client.id)
    const back = await bring(provider, again, { xml: respond(second, said), asked: second })
    expect(answerOf(back)).toHaveProperty("code")
  })

  const xs = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
  const xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string"'
  test.each<[string, number, (at: number) => string]>([
    [
      "190 names of a directory",
      190,
      (at) =>
        `<saml:AttributeValue>CN=G${at},OU=Groups,OU=Corp,OU=Berlin,OU=DE,` +
        "DC=emea,DC=ad,DC=example,DC=com</saml:AttributeValue>",
    ],
    [
      "350 names that declare their type",
      350,
      (at) => `<saml:AttributeValue ${xs} ${xsi}>Group ${at}</saml:AttributeValue>`,
    ],
    [
      "the 1,015 that Active Directory permits, each with its type",
      1015,
      (at) =>
        `<saml:AttributeValue ${xs} ${xsi}>CN=Group &amp; ${at},OU=Groups,DC=ad,DC=example` +
        "</saml:AttributeValue>",
    ],
  ])("may list the groups of a user: %s", async (_, count, make) => {
    const browser = newBrowser(provider)
    const asked = await askedFor(browser, client.id)
    const groups = Array.from({ length: count }, (_, at) => make(at)).join("")
    const end = "</saml:AttributeStatement>"
    const name = "http://schemas.xmlsoap.org/claims/Group"
    const plain = assertionFor(asked, now(), person())
    const whole = plain.replace(
      end,
      `<saml:Attribute Name="${name}">${groups}</saml:Attribute>${end}`,
    )
    expect(whole).not.toBe(plain)
    const xml = responseFor(asked, now(), signedXml(whole, { by: key }))
    expect(answerOf(await bring(provider, browser, { xml, asked }))).toHaveProperty("code")
  })

  test("may be signed as a whole, and both ways", async () => {
    for (const isBoth of [false, true]) {
      const browser = newBrowser(provider)
      const asked = await askedFor(browser, client.id)
      const plain = assertionFor(asked, now(), person())
      const inside = isBoth ? signedXml(plain, { by: key }) : plain
      const xml = signedXml(responseFor(asked, now(), inside), { by: key, of: "Response" })
      expect(answerOf(await bring(provider, browser, { xml, asked }))).toHaveProperty("code")
    }
  })

  test.each(["aes-256-gcm", "aes-256-cbc"])(
    "may have its assertion encrypted for us: %s",
    async (cipher) => {
      const browser = newBrowser(provider)
      const asked = await askedFor(browser, client.id)
      const found = idpById(provider.cx(), idpId)
      if (!found) throw new Error("there is no provider")
      const signed = signedXml(assertionFor(asked, now(), person()), { by: key })
      const sealed = encryptedXml(signed, certificateOf(provider.cx(), found), { cipher })
      const plain = responseFor(asked, now(), sealed)
      // CBC alone would let whoever tries often enough read it.
      const xml = cipher.endsWith("cbc") ? signedXml(plain, { by: key, of: "Response" }) : plain
      expect(answerOf(await bring(provider, browser, { xml, asked }))).toHaveProperty("code")
    },
  )

  test("of a person who has said no is a page that says so", async () => {
    const browser = newBrowser(provider)
    const asked = await askedFor(browser, client.id)
    const xml = responseFor(asked, now(), "", { status: "RequestDenied" })
    const end = await bring(provider, browser, { xml, asked })
    expect(end.response.status).toBe(400)
    expect(end.page).toContain("cancel")
  })
})

test("an account is created for a verified address in an allowed domain alone", async () => {
  const own = await addSaml(
    provider,
    idpMetadata([key]),
    {},
    { isLinkingAllowed: false, allowedDomains: ["example.com"] },
  )
  const signIn = async (said: Said, more: Record<string, string>) => {
    const browser = newBrowser(provider)
    const asked = await askedAt(browser, own)
    const attributes = { ...said.attributes, ...more }
    return bring(provider, browser, { xml: respond(asked, { ...said, attributes }), asked })
  }
  const verified = { email_verified: "true" }
  const elsewhere = { ...verified, Email: "ada@sub.example.com" }
  const rejected: readonly Record<string, string>[] = [{}, elsewhere]
  for (const more of rejected) {
    const end = await signIn(person(), more)
    expect(end.response.status).toBe(403)
    expect(end.page).toContain("No account was created")
    expect(findByLoginName(provider.cx(), `person${people}`)).toBeUndefined()
  }
  const said = person()
  expect(answerOf(await signIn(said, verified))).toHaveProperty("code")
  // Who is linked signs in with any address.
  const moved = { Email: "ada@other.example" }
  expect(answerOf(await signIn(said, moved))).toHaveProperty("code")
})

describe("who somebody is", () => {
  const transient = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"

  test("is what an attribute says, where names are other ones each time", async () => {
    const own = await addSaml(provider, idpMetadata([key]), { transientAttribute: "eduPersonId" })
    const said = person()
    const attributes = { ...said.attributes, eduPersonId: "lasting-1" }
    const reached = new Set<string>()
    for (const nameId of ["_t1", "_t2"]) {
      const browser = newBrowser(provider)
      const asked = await askedAt(browser, own)
      const xml = respond(asked, { nameId, format: transient, attributes })
      const end = await bring(provider, browser, { xml, asked })
      reached.add(Object.keys(answerOf(end)).includes("code") ? "in" : end.path)
    }
    expect([...reached]).toEqual(["in"])
  })

  test("is never a name that is another one each time", async () => {
    const browser = newBrowser(provider)
    const asked = await askedFor(browser, client.id)
    const xml = respond(asked, { ...person(), nameId: "_t1", format: transient })
    const end = await bring(provider, browser, { xml, asked })
    expect(end.page).toContain("Invalid response from the other service")
  })

  test("may stand under the names of directories", async () => {
    const browser = newBrowser(provider)
    const asked = await askedFor(browser, client.id)
    const attributes = {
      "urn:oid:0.9.2342.19200300.100.1.3": "grace@example.com",
      "urn:oid:2.5.4.42": "Grace",
      "urn:oid:2.5.4.4": "Hopper",
      "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/upn": "grace",
    }
    const xml = respond(asked, { nameId: "grace-1", attributes })
    expect(answerOf(await bring(provider, browser, { xml, asked }))).toHaveProperty("code")
    expect(findByLoginName(provider.cx(), "grace")).toBeDefined()
  })
})

/** What one of several providers is asked. */
async function askedAt(browser: ReturnType<typeof newBrowser>, id: string): Promise<Asked> {
  const { authorizePath } = await import("../oauth/provider.ts")
  const { askedBy } = await import("./identity-provider.ts")
  const first = await browser.go(authorizePath(client.id))
  const hrefs = [...first.page.matchAll(/href="([^"]*externalidp[^"]*)"/g)].map(([, href = ""]) =>
    href.replaceAll("&amp;", "&"),
  )
  const href = hrefs.find((each) => each.endsWith(`idp=${id}`)) ?? ""
  return askedBy((await browser.go(href)).path)
}

test("a provider that wants a form gets one, from a page of ours", async () => {
  const own = await openSamlProvider()
  const app = await own.addClient()
  await addSaml(own, idpMetadata([key], { binding: "HTTP-POST" }), { binding: "post" })
  const browser = newBrowser(own)
  const path = await away(browser, app.id)
  expect(path).toMatch(/^\/idps\/\d+\/saml\/start\?state=/)
  const { page } = await browser.go(path)
  expect(page).toContain('action="https://idp.example.com/saml/sso"')
  const [, message = ""] = /name="SAMLRequest" value="([^"]*)"/.exec(page) ?? []
  expect(Buffer.from(message, "base64").toString()).toContain("<ds:SignatureValue>")
  await own.close()
})

test("our metadata say who we are, and by which certificate", async () => {
  const answer = await provider.send(`/idps/${idpId}/saml/metadata`)
  expect(answer.headers.get("content-type")).toBe("application/samlmetadata+xml")
  const xml = await answer.text()
  const found = idpById(provider.cx(), idpId)
  expect(found && xml.split(certificateOf(provider.cx(), found)).length).toBe(3)
  expect(xml).toContain(`Location="${issuer}/idps/${idpId}/saml/acs"`)
  expect((await provider.send("/idps/1/saml/metadata")).status).toBe(404)
})
