// Deviations from the specification in service providers in use.
import { sign } from "node:crypto"
import "reflect-metadata"
import { X509CertificateGenerator } from "@peculiar/x509"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { parseMetadata } from "../../src/domain/app/saml/metadata.ts"
import { browserOf, type Provider } from "../oauth/provider.ts"
import { authnRequest, redirectPath } from "./requests.ts"
import {
  addServiceProvider,
  createKey,
  messageIn,
  metadataOf,
  nodeSaml,
  openSamlProvider,
  type ProviderKey,
  pathOf,
  postedFields,
} from "./service-provider.ts"

let provider: Provider
beforeAll(async () => {
  provider = await openSamlProvider()
  await addServiceProvider(provider)
  await provider.addPerson("pat")
})
afterAll(() => provider.close())

const moreAlgorithms = "http://www.w3.org/2001/04/xmldsig-more#"

/** An elliptic-curve key and its certificate, in base64. */
async function createCurveKey(namedCurve: "P-256" | "P-384" | "P-521"): Promise<ProviderKey> {
  const signingAlgorithm = { name: "ECDSA", namedCurve, hash: "SHA-256" }
  const keys = await crypto.subtle.generateKey(signingAlgorithm, true, ["sign", "verify"])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=sp.example.com",
    keys,
    signingAlgorithm,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 86_400_000),
  })
  const secret = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey))
  const lines = [
    "-----BEGIN PRIVATE KEY-----",
    secret.toString("base64"),
    "-----END PRIVATE KEY-----",
  ]
  return { certificate: certificate.toString("base64"), privatePem: lines.join("\n") }
}

describe("a request with a signature in the URL (SAML Bindings §3.4.4.1)", () => {
  const [rsaId, curveId] = ["https://rsa.example.com", "https://ec.example.com"]
  let rsa: ProviderKey
  let curve: ProviderKey
  beforeAll(async () => {
    rsa = await createKey()
    curve = await createCurveKey("P-384")
    const signed = { signsRequests: true } as const
    await addServiceProvider(provider, { entityId: rsaId, signing: rsa.certificate, ...signed })
    await addServiceProvider(provider, { entityId: curveId, signing: curve.certificate, ...signed })
  })

  type Signing = {
    readonly entityId: string
    readonly by: ProviderKey
    readonly hash?: string
    readonly encoding?: "der" | "ieee-p1363"
  }

  /** The response to a request signed with an algorithm. */
  async function answerTo(name: string, signing: Signing) {
    const { entityId, by, hash = name.split("-").at(-1), encoding = "der" } = signing
    const query = redirectPath(authnRequest({ entityId }), { SigAlg: name })
    const [path, search = ""] = query.split("?")
    const key = { key: by.privatePem, dsaEncoding: encoding }
    const signature = sign(hash ?? "", Buffer.from(search), key).toString("base64")
    const to = `${path}?${search}&Signature=${encodeURIComponent(signature)}`
    const { path: at, page } = await browserOf(provider).go(to)
    return at.startsWith("/ui/login/") ? "accepted" : page
  }

  test.each(["sha256", "sha384", "sha512"])("by RSA with %s is accepted", async (hash) => {
    expect(await answerTo(`${moreAlgorithms}rsa-${hash}`, { entityId: rsaId, by: rsa })).toBe(
      "accepted",
    )
  })

  test.each(
    ["sha256", "sha384", "sha512"].flatMap((hash) =>
      (["der", "ieee-p1363"] as const).map((encoding) => [hash, encoding] as const),
    ),
  )("by ECDSA with %s is accepted, written as %s", async (hash, encoding) => {
    const signing = { entityId: curveId, by: curve, encoding }
    expect(await answerTo(`${moreAlgorithms}ecdsa-${hash}`, signing)).toBe("accepted")
  })

  test("is rejected with an unsupported algorithm, which is named", async () => {
    const sha1 = "http://www.w3.org/2000/09/xmldsig#rsa-sha1"
    const page = await answerTo(sha1, { entityId: rsaId, by: rsa })
    expect(page).toContain(`SigAlg ${sha1} is not accepted; use rsa-sha256`)
  })

  test("is rejected if the metadata has no key of that kind", async () => {
    const page = await answerTo(`${moreAlgorithms}ecdsa-sha256`, { entityId: rsaId, by: curve })
    expect(page).toContain("requires an EC key in the metadata")
    const other = await answerTo(`${moreAlgorithms}rsa-sha256`, { entityId: curveId, by: rsa })
    expect(other).toContain("requires an RSA key in the metadata")
  })

  test("is rejected if another key or another hash was used", async () => {
    const stranger = await createCurveKey("P-384")
    const by = { entityId: curveId, by: stranger }
    expect(await answerTo(`${moreAlgorithms}ecdsa-sha384`, by)).toContain(
      "the signature does not match any key of the registered metadata",
    )
    const hash = { entityId: curveId, by: curve, hash: "sha256" }
    expect(await answerTo(`${moreAlgorithms}ecdsa-sha384`, hash)).toContain(
      "the signature does not match any key of the registered metadata",
    )
  })

  test.each(["sha256", "sha512"] as const)("by node-saml with %s is accepted", async (hash) => {
    const sp = await nodeSaml(provider, {
      issuer: rsaId,
      audience: rsaId,
      privateKey: rsa.privatePem,
      signatureAlgorithm: hash,
    })
    const path = pathOf(await sp.getAuthorizeUrlAsync("", "", {}))
    const at = await browserOf(provider).signIn(path, "pat")
    const { profile } = await sp.validatePostResponseAsync(postedFields(at.page))
    expect(profile).toMatchObject({ UserName: "pat" })
  })
})

describe("metadata in a list (SAML Metadata §2.3.1)", () => {
  const declared = 'xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"'
  const listed = (inside: string, attributes = "") =>
    `<md:EntitiesDescriptor ${declared} ${attributes}>${inside}</md:EntitiesDescriptor>`
  const read = (xml: string) => parseMetadata(Buffer.from(xml), provider.clock.now())
  const entityId = "https://listed.example.com"

  test("are accepted with one entity", async () => {
    const one = metadataOf({ entityId })
    expect((await read(listed(one))).entityId).toBe(entityId)
    expect((await read(listed(listed(one)))).entityId).toBe(entityId)
  })

  test("are rejected with several entities, or none", async () => {
    const two = metadataOf({ entityId }) + metadataOf({ entityId: "https://b.example.com" })
    for (const inside of [two, "", listed(two), metadataOf({ entityId }) + listed("")]) {
      await expect(read(listed(inside))).rejects.toMatchObject({
        id: "app.metadata_invalid",
        message: "the metadata must have exactly one md:EntityDescriptor",
      })
    }
  })

  test("expire with the list", async () => {
    const ended = listed(metadataOf({ entityId }), 'validUntil="2020-01-01T00:00:00Z"')
    await expect(read(ended)).rejects.toMatchObject({ id: "app.metadata_invalid" })
    const later = listed(metadataOf({ entityId }), 'validUntil="2999-01-01T00:00:00Z"')
    expect((await read(later)).entityId).toBe(entityId)
  })
})

describe("a request", () => {
  test("can have a RelayState of 4 kB, which is returned unchanged", async () => {
    const relayState = "r".repeat(4096)
    const path = redirectPath(authnRequest(), { RelayState: relayState })
    const { page } = await browserOf(provider).signIn(path, "pat")
    expect(postedFields(page).RelayState).toBe(relayState)
    const body = new URLSearchParams({
      SAMLRequest: Buffer.from(authnRequest()).toString("base64"),
      RelayState: relayState,
    })
    const browser = browserOf(provider)
    const first = await browser.go("/saml/v2/SSO", { method: "POST", body })
    const named = await browser.post(first, { loginName: "pat" })
    const end = await browser.post(named, { loginName: "pat", password: "Correct-Horse-7" })
    expect(postedFields(end.page).RelayState).toBe(relayState)
  })

  test.each([
    ["emailAddress", "pat@example.org"],
    ["unspecified", expect.stringMatching(/^\d+$/)],
  ])("can name the format %s in the SAML 1.1 spelling", async (format, name) => {
    const name20 = `urn:oasis:names:tc:SAML:2.0:nameid-format:${format}`
    const inside = `<samlp:NameIDPolicy Format="${name20}"/>`
    const { page } = await browserOf(provider).signIn(
      redirectPath(authnRequest({ content: inside })),
      "pat",
    )
    const [, format11, value] =
      /<saml:NameID Format="([^"]*)"[^>]*>([^<]*)</.exec(messageIn(page)) ?? []
    expect(format11).toBe(`urn:oasis:names:tc:SAML:1.1:nameid-format:${format}`)
    expect(value).toEqual(name)
  })

  test("can have an ID that starts with a digit, if it is unique", async () => {
    const attributes = { ID: "9f2c" }
    const { page } = await browserOf(provider).signIn(
      redirectPath(authnRequest({ attributes })),
      "pat",
    )
    expect(messageIn(page)).toContain('InResponseTo="9f2c"')
    const inside = '<samlp:Extensions><x xmlns="urn:x" ID="9f2c"/></samlp:Extensions>'
    const twice = await browserOf(provider).go(
      redirectPath(authnRequest({ attributes, content: inside })),
    )
    expect(twice.page).toContain("the SAML message has a duplicate ID")
    for (const ID of ["-a", ".a", "a b", "", "ü", "9".repeat(257)]) {
      const path = redirectPath(authnRequest({ attributes: { ID } }))
      expect((await browserOf(provider).go(path)).page, ID).toContain("ID must be")
    }
  })
})
