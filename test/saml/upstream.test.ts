// Signing in with a SAML identity provider.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { findIdpById } from "../../src/domain/idp/index.ts"
import { certificateOf } from "../../src/domain/idp/saml/key-pair.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { findProfile } from "../../src/domain/user-lookup/query.ts"
import { issuer, type NewClient, type Provider, responseOf } from "../oauth/provider.ts"
import {
  type AssertionOptions,
  ada,
  createAssertion,
  createResponse,
  encryptXml,
  idpMetadata,
  type SamlRequest,
  signXml,
} from "./identity-provider.ts"
import { createKey, openSamlProvider, type ProviderKey } from "./service-provider.ts"
import { addSaml, chooseProvider, newBrowser, postResponse, requestAtProvider } from "./upstream.ts"

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

let userCount = 0
/** A new user. */
const createPerson = (): AssertionOptions => {
  const name = `person${++userCount}`
  const attributes = { ...ada, Email: `${name}@example.com`, UserName: name }
  return { nameId: `${name}-id`, attributes }
}

const now = () => provider.clock.now()
const createSignedResponse = (request: SamlRequest, options: AssertionOptions): string =>
  createResponse(
    request,
    now(),
    signXml(createAssertion(request, now(), options), { by: key }),
    options,
  )

describe("a response", () => {
  test("signs in the named user, and creates their account", async () => {
    const browser = newBrowser(provider)
    const asked = await requestAtProvider(browser, client.id)
    expect(asked).toMatchObject({
      issuer: `${issuer}/idps/${idpId}/saml/metadata`,
      acs: `${issuer}/idps/${idpId}/saml/acs`,
    })
    expect(asked.parameters.get("Signature")).not.toBeNull()
    const said = createPerson()
    const end = await postResponse(provider, browser, {
      xml: createSignedResponse(asked, said),
      asked,
    })
    expect(responseOf(end)).toHaveProperty("code")
    const userId = findByLoginName(provider.cx(), `person${userCount}`) ?? ""
    expect(findProfile(provider.cx(), userId)).toMatchObject({
      givenName: "Ada",
      familyName: "Lovelace",
      email: `person${userCount}@example.com`,
      emailVerified: false,
    })
    // The same user again.
    const again = newBrowser(provider)
    const second = await requestAtProvider(again, client.id)
    const back = await postResponse(provider, again, {
      xml: createSignedResponse(second, said),
      asked: second,
    })
    expect(responseOf(back)).toHaveProperty("code")
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
  ])("can list the groups of a user: %s", async (_, count, make) => {
    const browser = newBrowser(provider)
    const asked = await requestAtProvider(browser, client.id)
    const groups = Array.from({ length: count }, (_, at) => make(at)).join("")
    const end = "</saml:AttributeStatement>"
    const name = "http://schemas.xmlsoap.org/claims/Group"
    const plain = createAssertion(asked, now(), createPerson())
    const whole = plain.replace(
      end,
      `<saml:Attribute Name="${name}">${groups}</saml:Attribute>${end}`,
    )
    expect(whole).not.toBe(plain)
    const xml = createResponse(asked, now(), signXml(whole, { by: key }))
    expect(responseOf(await postResponse(provider, browser, { xml, asked }))).toHaveProperty("code")
  })

  test("can be signed as a whole, and both ways", async () => {
    for (const isBoth of [false, true]) {
      const browser = newBrowser(provider)
      const asked = await requestAtProvider(browser, client.id)
      const plain = createAssertion(asked, now(), createPerson())
      const inside = isBoth ? signXml(plain, { by: key }) : plain
      const xml = signXml(createResponse(asked, now(), inside), { by: key, of: "Response" })
      expect(responseOf(await postResponse(provider, browser, { xml, asked }))).toHaveProperty(
        "code",
      )
    }
  })

  test.each(["aes-256-gcm", "aes-256-cbc"])(
    "can have an encrypted assertion: %s",
    async (cipher) => {
      const browser = newBrowser(provider)
      const asked = await requestAtProvider(browser, client.id)
      const found = findIdpById(provider.cx(), idpId)
      if (!found) throw new Error("no message provider is configured")
      const signed = signXml(createAssertion(asked, now(), createPerson()), { by: key })
      const sealed = encryptXml(signed, certificateOf(provider.cx(), found), { cipher })
      const plain = createResponse(asked, now(), sealed)
      // CBC without a signature would allow decryption by repeated attempts.
      const xml = cipher.endsWith("cbc") ? signXml(plain, { by: key, of: "Response" }) : plain
      expect(responseOf(await postResponse(provider, browser, { xml, asked }))).toHaveProperty(
        "code",
      )
    },
  )

  test("of a user who denied shows a page that says so", async () => {
    const browser = newBrowser(provider)
    const asked = await requestAtProvider(browser, client.id)
    const xml = createResponse(asked, now(), "", { status: "RequestDenied" })
    const end = await postResponse(provider, browser, { xml, asked })
    expect(end.response.status).toBe(400)
    expect(end.page).toContain("cancel")
  })
})

test("an account is created only for a verified address in an allowed domain", async () => {
  const own = await addSaml(
    provider,
    idpMetadata([key]),
    {},
    { isLinkingAllowed: false, allowedDomains: ["example.com"] },
  )
  const signIn = async (options: AssertionOptions, more: Record<string, string>) => {
    const browser = newBrowser(provider)
    const asked = await startAtProvider(browser, own)
    const attributes = { ...options.attributes, ...more }
    return postResponse(provider, browser, {
      xml: createSignedResponse(asked, { ...options, attributes }),
      asked,
    })
  }
  const verified = { email_verified: "true" }
  const elsewhere = { ...verified, Email: "ada@sub.example.com" }
  const rejected: readonly Record<string, string>[] = [{}, elsewhere]
  for (const more of rejected) {
    const end = await signIn(createPerson(), more)
    expect(end.response.status).toBe(403)
    expect(end.page).toContain("No account was created")
    expect(findByLoginName(provider.cx(), `person${userCount}`)).toBeUndefined()
  }
  const said = createPerson()
  expect(responseOf(await signIn(said, verified))).toHaveProperty("code")
  // A linked user signs in with any address.
  const moved = { Email: "ada@other.example" }
  expect(responseOf(await signIn(said, moved))).toHaveProperty("code")
})

describe("the identifier of a user", () => {
  const transient = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"

  test("is an attribute, if name IDs are transient", async () => {
    const own = await addSaml(provider, idpMetadata([key]), { transientAttribute: "eduPersonId" })
    const said = createPerson()
    const attributes = { ...said.attributes, eduPersonId: "lasting-1" }
    const reached = new Set<string>()
    for (const nameId of ["_t1", "_t2"]) {
      const browser = newBrowser(provider)
      const asked = await startAtProvider(browser, own)
      const xml = createSignedResponse(asked, { nameId, format: transient, attributes })
      const end = await postResponse(provider, browser, { xml, asked })
      reached.add(Object.keys(responseOf(end)).includes("code") ? "in" : end.path)
    }
    expect([...reached]).toEqual(["in"])
  })

  test("is never a transient name ID", async () => {
    const browser = newBrowser(provider)
    const asked = await requestAtProvider(browser, client.id)
    const xml = createSignedResponse(asked, { ...createPerson(), nameId: "_t1", format: transient })
    const end = await postResponse(provider, browser, { xml, asked })
    expect(end.page).toContain("Invalid response from the other service")
  })

  test("can have an LDAP attribute name", async () => {
    const browser = newBrowser(provider)
    const asked = await requestAtProvider(browser, client.id)
    const attributes = {
      "urn:oid:0.9.2342.19200300.100.1.3": "grace@example.com",
      "urn:oid:2.5.4.42": "Grace",
      "urn:oid:2.5.4.4": "Hopper",
      "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/upn": "grace",
    }
    const xml = createSignedResponse(asked, { nameId: "grace-1", attributes })
    expect(responseOf(await postResponse(provider, browser, { xml, asked }))).toHaveProperty("code")
    expect(findByLoginName(provider.cx(), "grace")).toBeDefined()
  })
})

/** The request to one of several providers. */
async function startAtProvider(
  browser: ReturnType<typeof newBrowser>,
  id: string,
): Promise<SamlRequest> {
  const { authorizePath } = await import("../oauth/provider.ts")
  const { parseRedirect } = await import("./identity-provider.ts")
  const first = await browser.go(authorizePath(client.id))
  const hrefs = [...first.page.matchAll(/href="([^"]*externalidp[^"]*)"/g)].map(([, href = ""]) =>
    href.replaceAll("&amp;", "&"),
  )
  const href = hrefs.find((each) => each.endsWith(`idp=${id}`)) ?? ""
  return parseRedirect((await browser.go(href)).path)
}

test("a provider with the POST binding gets a form from a page of ours", async () => {
  const own = await openSamlProvider()
  const app = await own.addClient()
  await addSaml(own, idpMetadata([key], { binding: "HTTP-POST" }), { binding: "post" })
  const browser = newBrowser(own)
  const path = await chooseProvider(browser, app.id)
  expect(path).toMatch(/^\/idps\/\d+\/saml\/start\?state=/)
  const { page } = await browser.go(path)
  expect(page).toContain('action="https://idp.example.com/saml/sso"')
  const [, message = ""] = /name="SAMLRequest" value="([^"]*)"/.exec(page) ?? []
  expect(Buffer.from(message, "base64").toString()).toContain("<ds:SignatureValue>")
  await own.close()
})

test("our metadata contains our entity ID and certificate", async () => {
  const answer = await provider.send(`/idps/${idpId}/saml/metadata`)
  expect(answer.headers.get("content-type")).toBe("application/samlmetadata+xml")
  const xml = await answer.text()
  const found = findIdpById(provider.cx(), idpId)
  expect(found && xml.split(certificateOf(provider.cx(), found)).length).toBe(3)
  expect(xml).toContain(`Location="${issuer}/idps/${idpId}/saml/acs"`)
  expect((await provider.send("/idps/1/saml/metadata")).status).toBe(404)
})
