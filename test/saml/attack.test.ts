import { randomBytes } from "node:crypto"
import { deflateRawSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { SignedXml } from "xml-crypto"
import { createLimits } from "../../src/kernel/limit.ts"
import { browserOf, type Provider } from "../oauth/provider.ts"
import { measureCpu } from "../support/cpu-time.ts"
import { authnRequest, postForm, redirectPath } from "./requests.ts"
import {
  acsUrl,
  addServiceProvider,
  createKey,
  openSamlProvider,
  type ProviderKey,
  pemOf,
} from "./service-provider.ts"

// Known attacks on SAML implementations, one by one.

const entityId = "https://signing.example.com"
let provider: Provider
let key: ProviderKey
let other: ProviderKey
beforeAll(async () => {
  provider = await openSamlProvider()
  key = await createKey()
  other = await createKey()
  const signing = key.certificate
  const two = `<md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
    Location="${acsUrl}" index="0"/><md:AssertionConsumerService
    Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="${acsUrl}/2" index="1"/>`
  await addServiceProvider(provider, { entityId, signing, signsRequests: true, consumers: two })
  await addServiceProvider(provider)
})
afterAll(() => provider.close())

type Signing = {
  readonly by?: ProviderKey
  readonly algorithm?: string
  readonly digest?: string
  readonly transforms?: readonly string[]
  readonly reference?: string
}

const exclusive = "http://www.w3.org/2001/10/xml-exc-c14n#"
const enveloped = "http://www.w3.org/2000/09/xmldsig#enveloped-signature"

/** Signs as a service provider does, with a third-party library. */
function signXml(xml: string, signing: Signing = {}): string {
  const { by = key, transforms = [enveloped, exclusive], ...rest } = signing
  const sig = new SignedXml({
    privateKey: by.privatePem,
    publicCert: pemOf(by.certificate),
    signatureAlgorithm: rest.algorithm ?? "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
    canonicalizationAlgorithm: exclusive,
  })
  sig.addReference({
    xpath: rest.reference ?? "/*",
    digestAlgorithm: rest.digest ?? "http://www.w3.org/2001/04/xmlenc#sha256",
    transforms: [...transforms],
  })
  const location = { reference: "/*/*[local-name()='Issuer']", action: "after" } as const
  sig.computeSignature(xml, { location })
  return sig.getSignedXml()
}

const request = (ID = "_r1", inside = "") =>
  authnRequest({
    entityId,
    content: inside,
    attributes: { ID, AssertionConsumerServiceIndex: "0" },
  })

/** The markup between the certificates of a key descriptor. */
const certificateSeparator = "</ds:X509Certificate></ds:X509Data><ds:X509Data><ds:X509Certificate>"

const signatureOf = (xml: string) => /<Signature .*<\/Signature>/s.exec(xml)?.[0] ?? ""

async function sendRequest(xml: string) {
  const { path, response, page } = await browserOf(provider).go("/saml/v2/SSO", postForm(xml))
  return { path, status: response.status, page }
}

/** Whether a request was accepted: the login pages follow. */
const isAccepted = async (xml: string) =>
  (await sendRequest(xml)).path.startsWith("/ui/login/login")

test("a properly signed request is accepted", async () => {
  expect(await isAccepted(signXml(request()))).toBe(true)
})

describe("signatures", () => {
  test("of another key, or none, are rejected", async () => {
    expect(await isAccepted(signXml(request(), { by: other }))).toBe(false)
    expect(await isAccepted(request())).toBe(false)
  })

  test("of another element, or that were altered, are rejected", async () => {
    const signed = signXml(request())
    expect(await isAccepted(signed.replace('Index="0"', 'Index="1"'))).toBe(false)
    const digested = signed.replace(/<DigestValue>(.)/, (_, first) => {
      return `<DigestValue>${first === "A" ? "B" : "A"}`
    })
    expect(await isAccepted(digested)).toBe(false)
  })

  test.each([
    ["rsa-sha1", { algorithm: "http://www.w3.org/2000/09/xmldsig#rsa-sha1" }],
    ["a digest by sha1", { digest: "http://www.w3.org/2000/09/xmldsig#sha1" }],
    ["without taking the signature out", { transforms: [exclusive] }],
    [
      "with comments",
      { transforms: [enveloped, "http://www.w3.org/2001/10/xml-exc-c14n#WithComments"] },
    ],
  ])("must follow the SAML profile: %s", async (_, signing) => {
    expect(await isAccepted(signXml(request(), signing))).toBe(false)
  })

  test("are rejected with the name of an unsupported algorithm", async () => {
    const algorithm = "http://www.w3.org/2000/09/xmldsig#rsa-sha1"
    const { page } = await sendRequest(signXml(request(), { algorithm }))
    expect(page).toContain(`must use RSA with SHA-256 or SHA-512, not ${algorithm}`)
  })

  test("by HMAC with their public key as the secret are rejected", async () => {
    const signed = signXml(request())
    const confused = signed.replace(
      "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
      "http://www.w3.org/2000/09/xmldsig#hmac-sha1",
    )
    expect(await isAccepted(confused)).toBe(false)
  })

  test("that are invalid cost an attempt of the address, and valid ones nothing", async () => {
    const allowance = createLimits(provider.clock, 0.01)({ address: "198.51.100.7" })
    const statusOf = async (xml: string) =>
      (await provider.send("/saml/v2/SSO", postForm(xml), { allowance })).status
    for (const at of [1, 2, 3, 4, 5]) expect(await statusOf(signXml(request(`_r${at}`)))).toBe(303)
    const wrong = signXml(request(), { by: other })
    expect([await statusOf(wrong), await statusOf(wrong), await statusOf(wrong)]).toEqual([
      400, 400, 400,
    ])
    expect(await statusOf(signXml(request()))).toBe(429)
  })

  test("of the second of several keys are accepted, and checked once", async () => {
    const many = "https://many.example.com"
    const descriptors = [other, other, key].map(({ certificate }) => certificate)
    await addServiceProvider(provider, {
      entityId: many,
      signing: descriptors.join(certificateSeparator),
      signsRequests: true,
    })
    const signed = signXml(authnRequest({ entityId: many, attributes: { ID: "_m" } }))
    expect(await isAccepted(signed)).toBe(true)
    const third = await createKey()
    expect(await isAccepted(signXml(request("_m"), { by: third }))).toBe(false)
  })

  test("with an embedded key are rejected", async () => {
    const { page } = await sendRequest(signXml(request(), { by: other }))
    expect(page).toContain("the signature does not match any key of the registered metadata")
  })
})

describe("signature wrapping: the signed element differs from the parsed one", () => {
  const original = () => signXml(request("_signed"))
  const evil = (inside: string, ID = "_evil") =>
    authnRequest({
      entityId,
      content: inside,
      attributes: { ID, AssertionConsumerServiceIndex: "1" },
    })
  const bare = (xml: string) => xml.replace(signatureOf(xml), "")

  test.each([
    ["around it", () => evil(original())],
    ["around it, with its signature", () => evil(signatureOf(original()) + bare(original()))],
    ["in Extensions", () => evil(`<samlp:Extensions>${original()}</samlp:Extensions>`)],
    [
      "in an Object of the signature",
      () => {
        const object = `<Object>${bare(original())}</Object></Signature>`
        return evil(signatureOf(original()).replace("</Signature>", object))
      },
    ],
    ["by the same ID", () => evil(original(), "_signed")],
    ["by an ID in other letters", () => evil(original()).replace('ID="_evil"', 'Id="_signed"')],
    ["beside a second signature", () => signXml(original())],
    ["with two references", () => original().replace(/(<Reference .*<\/Reference>)/s, "$1$1")],
    ["with an empty reference", () => original().replace('URI="#_signed"', 'URI=""')],
    [
      "with a pointer for a reference",
      () => original().replace('URI="#_signed"', `URI="#xpointer(id('_signed'))"`),
    ],
  ])("%s", async (_, make) => {
    expect(await isAccepted(make())).toBe(false)
  })
})

const attributes = (count: number, name: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => `${name(at)}="u"`).join(" ")

describe("XML with active content", () => {
  const doctype = (inside: string) => `<!DOCTYPE x [${inside}]>`
  test.each([
    ["a file", doctype('<!ENTITY f SYSTEM "file:///etc/passwd">')],
    ["entities that grow", doctype('<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">')],
    ["a style sheet", '<?xml-stylesheet type="text/xsl" href="https://evil.example.com/a.xsl"?>'],
    ["a comment", "<!-- x -->"],
  ])("%s in front of it", async (_, ahead) => {
    const { page, status } = await sendRequest(ahead + signXml(request()))
    expect(status).toBe(400)
    expect(page).toContain("must not have comments")
  })

  test("a comment within a name truncates nothing", async () => {
    const cut = signXml(request()).replace("signing.example.com", "signing.example.com<!---->.evil")
    expect((await sendRequest(cut)).page).toContain("must not have comments")
  })

  test("a style sheet as a transform is not run", async () => {
    const xslt = signXml(request()).replace(
      /<Transform Algorithm="[^"]*enveloped-signature"\s*\/>/,
      '<Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"><xsl:stylesheet ' +
        'xmlns:xsl="http://www.w3.org/1999/XSL/Transform" version="1.0"/></Transform>',
    )
    expect(xslt).toContain("xslt")
    expect((await sendRequest(xslt)).page).toContain("and no others")
  })

  test("a message that inflates beyond the limit is rejected", async () => {
    const bomb = deflateRawSync(Buffer.alloc(8_000_000, 0x20)).toString("base64")
    const path = `/saml/v2/SSO?${new URLSearchParams({ SAMLRequest: bomb })}`
    const { response, page } = await browserOf(provider).go(path)
    expect(response.status).toBe(400)
    expect(page).toContain("more than 65536 bytes")
  })

  test.each([
    ["deep", `${"<samlp:Extensions>".repeat(60)}${"</samlp:Extensions>".repeat(60)}`],
    ["wide", "<samlp:Extensions/>".repeat(300)],
    ["long", `<samlp:Extensions>${"x".repeat(65_000)}</samlp:Extensions>`],
    ["rich", `<samlp:Extensions ${attributes(300, (at) => `a${at}`)}/>`],
    ["named", `<samlp:Extensions ${attributes(40, (at) => `xmlns:n${at}`)}/>`],
  ])("a message that is too %s is not parsed", async (_, inside) => {
    const [{ status }, computedMs] = await measureCpu(() => sendRequest(request("_r", inside)))
    expect(status).toBe(400)
    expect(computedMs).toBeLessThan(1000)
  })
})

describe("addresses", () => {
  const path = (more = {}) =>
    redirectPath(
      authnRequest({ entityId, attributes: { AssertionConsumerServiceIndex: "0" } }),
      more,
    )

  test.each([
    [
      "a signature of nothing",
      { Signature: "AAAA", SigAlg: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256" },
    ],
    [
      "an algorithm without a signature",
      { SigAlg: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256" },
    ],
    ["a signature without an algorithm", { Signature: randomBytes(256).toString("base64") }],
    ["SHA-1", { Signature: "AAAA", SigAlg: "http://www.w3.org/2000/09/xmldsig#rsa-sha1" }],
  ])("with %s are rejected", async (_, more) => {
    expect((await browserOf(provider).go(path(more))).response.status).toBe(400)
  })

  test("with a repeated parameter are rejected", async () => {
    const twice = `${redirectPath(authnRequest())}&RelayState=a&RelayState=b`
    const { page } = await browserOf(provider).go(twice)
    expect(page).toContain("a parameter is repeated")
  })

  test("redirect nowhere: relay states go to the service provider only", async () => {
    const relayState = "https://evil.example.com/"
    const at = await browserOf(provider).go(
      redirectPath(authnRequest({ attributes: { IsPassive: "true" } }), { RelayState: relayState }),
    )
    expect(at.page).toContain(`action="${acsUrl}"`)
    expect(at.response.headers.get("content-security-policy")).not.toContain("evil")
    expect(at.response.headers.get("location")).toBeNull()
  })

  test("that contain a request of ours are valid for a minute, and nothing else", async () => {
    const browser = browserOf(provider)
    const answer = await provider.send("/saml/v2/SSO", postForm(signXml(request())))
    const carried = answer.headers.get("location") ?? ""
    expect((await browser.go(carried)).path).toContain("/ui/login/login")
    expect((await browser.go(carried.slice(0, -2))).response.status).toBe(400)
    provider.clock.advance(61_000)
    expect((await browser.go(carried)).response.status).toBe(400)
  })
})
