// Known attacks on SAML sign-in with an external identity provider.
import { createHmac, createPublicKey } from "node:crypto"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { findIdpById } from "../../src/domain/idp/index.ts"
import { certificateOf } from "../../src/domain/idp/saml/key-pair.ts"
import { type NewClient, type Provider, responseOf } from "../oauth/provider.ts"
import { measureCpu } from "../support/cpu-time.ts"
import { countMapEntries } from "../support/map-entry-count.ts"
import {
  type AssertionOptions,
  ada,
  createAssertion,
  createResponse,
  encryptXml,
  enveloped,
  exclusive,
  idpMetadata,
  type SamlRequest,
  type SignatureOptions,
  signXml,
} from "./identity-provider.ts"
import { createKey, openSamlProvider, type ProviderKey, pemOf } from "./service-provider.ts"
import { addSaml, newBrowser, postResponse, requestAtProvider } from "./upstream.ts"

let provider: Provider
let client: NewClient
let key: ProviderKey
let other: ProviderKey
let idpId: string
beforeAll(async () => {
  provider = await openSamlProvider()
  client = await provider.addClient()
  key = await createKey()
  other = await createKey()
  idpId = await addSaml(provider, idpMetadata([key]))
})
afterAll(() => provider.close())

const repeat = (count: number, make: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => make(at)).join(" ")

const now = () => provider.clock.now()
const minute = 60_000

let personCount = 0
const createPerson = (): AssertionOptions => {
  const name = `person${++personCount}`
  const attributes = { ...ada, Email: `${name}@example.com`, UserName: name }
  return { nameId: `${name}-id`, attributes }
}
const victim: AssertionOptions = {
  nameId: "victim",
  attributes: { ...ada, Email: "victim@example.com", UserName: "victim" },
}

/** Nested elements with these attributes. */
const nestedElements = (count: number, text: string): string =>
  repeat(count, () => `<saml:Advice ${text}>`) + repeat(count, () => "</saml:Advice>")

const dsig = "http://www.w3.org/2000/09/xmldsig#"
const createPrefixes = (count: number): string =>
  repeat(count, (at) => `xmlns:p${at}="u${at}" p${at}:a=""`)

/** A valid response, with the given changes. */
const createValidResponse = (
  request: SamlRequest,
  options: AssertionOptions = {},
  signing: Partial<SignatureOptions> = {},
): string =>
  createResponse(
    request,
    now(),
    signXml(createAssertion(request, now(), { ...createPerson(), ...options }), {
      by: key,
      ...signing,
    }),
    options,
  )

/** The result of a response in the requesting browser. */
async function sendResponse(make: (request: SamlRequest) => string) {
  const browser = newBrowser(provider)
  const asked = await requestAtProvider(browser, client.id)
  return postResponse(provider, browser, { xml: make(asked), asked })
}

async function expectRejected(make: (request: SamlRequest) => string): Promise<void> {
  const end = await sendResponse(make)
  expect(end.response.status).toBe(400)
  expect(end.page).toContain("Invalid response from the other service")
}

test("a valid response is accepted", async () => {
  expect(responseOf(await sendResponse((request) => createValidResponse(request)))).toHaveProperty(
    "code",
  )
})

describe("mismatches are rejected:", () => {
  test.each<[string, () => AssertionOptions]>([
    ["for another audience", () => ({ audience: "https://other.example.com" })],
    ["for nobody in particular", () => ({ conditions: "<saml:Conditions></saml:Conditions>" })],
    ["without conditions", () => ({ conditions: "" })],
    ["for another address", () => ({ recipient: "https://other.example.com/acs" })],
    ["sent to another address", () => ({ destination: "https://other.example.com/acs" })],
    ["to another request", () => ({ confirmedTo: "_other" })],
    ["to no request", () => ({ confirmedTo: undefined })],
    ["a response to another request", () => ({ inResponseTo: "_other" })],
    ["a response to no request", () => ({ inResponseTo: undefined })],
    ["that is over", () => ({ notOnOrAfter: now() - 2 * minute })],
    ["that is not valid yet", () => ({ notBefore: now() + 5 * minute })],
    ["of a session that is over", () => ({ sessionEnds: now() - 5 * minute })],
    ["of another issuer", () => ({ issuer: "https://evil.example.com" })],
    ["confirmed otherwise", () => ({ method: "urn:oasis:names:tc:SAML:2.0:cm:sender-vouches" })],
    [
      "with an audience among others that each must fit",
      () => ({
        conditions:
          "<saml:Conditions><saml:AudienceRestriction><saml:Audience>x</saml:Audience>" +
          "</saml:AudienceRestriction></saml:Conditions>",
      }),
    ],
    ["about nobody", () => ({ nameId: "" })],
  ])("%s", async (_, values) => {
    await expectRejected((request) => createValidResponse(request, values()))
  })

  test("an error with an assertion", async () => {
    const end = await sendResponse((request) =>
      createValidResponse(request, { status: "NoPassive" }),
    )
    expect(end.response.status).toBe(400)
  })
})

describe("signatures", () => {
  test.each<[string, () => Partial<SignatureOptions>]>([
    ["of another key", () => ({ by: other })],
    ["by SHA-1", () => ({ algorithm: "http://www.w3.org/2000/09/xmldsig#rsa-sha1" })],
    ["over a digest by SHA-1", () => ({ digest: "http://www.w3.org/2000/09/xmldsig#sha1" })],
    ["over itself", () => ({ transforms: [exclusive] })],
    [
      "over comments, too",
      () => ({ transforms: [enveloped, "http://www.w3.org/2001/10/xml-exc-c14n#WithComments"] }),
    ],
  ])("%s are rejected", async (_, signing) => {
    await expectRejected((request) => createValidResponse(request, {}, signing()))
  })

  test("that are missing are rejected", async () => {
    await expectRejected((request) =>
      createResponse(request, now(), createAssertion(request, now(), victim)),
    )
  })

  test("of the response by another key are not replaced by that of the assertion", async () => {
    await expectRejected((request) =>
      signXml(createValidResponse(request), { by: other, of: "Response" }),
    )
  })

  test("by HMAC with their public key as the secret are rejected", async () => {
    await expectRejected((request) => {
      const hmac = "http://www.w3.org/2000/09/xmldsig#hmac-sha1"
      const signed = createValidResponse(request, victim).replace(
        /(SignatureMethod Algorithm=")[^"]*/,
        `$1${hmac}`,
      )
      const info = /<SignedInfo.*<\/SignedInfo>/s.exec(signed)?.[0] ?? ""
      const pem = createPublicKey(pemOf(key.certificate)).export({ format: "pem", type: "spki" })
      const value = createHmac("sha1", pem).update(info).digest("base64")
      return signed.replace(/(<SignatureValue>)[^<]*/, `$1${value}`)
    })
  })

  test("with an embedded key are rejected", async () => {
    await expectRejected((request) => {
      const info =
        "<KeyInfo><X509Data><X509Certificate>" +
        `${other.certificate}</X509Certificate></X509Data></KeyInfo></Signature>`
      return createValidResponse(request, victim, { by: other }).replace("</Signature>", info)
    })
  })
})

// Somorovsky et al., "On Breaking SAML: Be Whoever You Want to Be" (2012), figure 4.
describe("signature wrapping: the signed element differs from the parsed one", () => {
  const signedIn = (request: SamlRequest) =>
    signXml(createAssertion(request, now(), createPerson()), { by: key })
  const evilIn = (request: SamlRequest, id = "_evil") =>
    createAssertion(request, now(), { ...victim, assertionId: id })
  const signatureOf = (xml: string) => /<Signature .*<\/Signature>/s.exec(xml)?.[0] ?? ""
  const bare = (xml: string) => xml.replace(signatureOf(xml), "")
  const into = (xml: string, inside: string, before = "</saml:Assertion>") =>
    xml.replace(before, `${inside}${before}`)

  test.each<[string, (request: SamlRequest) => string]>([
    [
      "XSW1: a response around the one that was signed",
      (request) => {
        const signed = signXml(createResponse(request, now(), evilIn(request, "_x")), {
          by: key,
          of: "Response",
        })
        const evil = createResponse(request, now(), evilIn(request)).replace(
          '"_response"',
          '"_evil1"',
        )
        return into(evil, into(signatureOf(signed), bare(signed), "</Signature>"), "<samlp:Status>")
      },
    ],
    [
      "XSW2: the signed response before the signature",
      (request) => {
        const signed = signXml(createResponse(request, now(), evilIn(request, "_x")), {
          by: key,
          of: "Response",
        })
        const evil = createResponse(request, now(), evilIn(request)).replace(
          '"_response"',
          '"_evil1"',
        )
        return into(evil, bare(signed) + signatureOf(signed), "<samlp:Status>")
      },
    ],
    [
      "XSW3: an assertion before the signed one",
      (request) => createResponse(request, now(), evilIn(request) + signedIn(request)),
    ],
    [
      "XSW4: the signed assertion within another",
      (request) => createResponse(request, now(), into(evilIn(request), signedIn(request))),
    ],
    [
      "XSW5: another assertion with the signature, the signed one after it",
      (request) => {
        const signed = signedIn(request)
        const evil = evilIn(request).replace(
          "<saml:Subject>",
          `${signatureOf(signed)}<saml:Subject>`,
        )
        return createResponse(request, now(), evil + bare(signed))
      },
    ],
    [
      "XSW6: the signed assertion within the signature of another",
      (request) => {
        const signed = signedIn(request)
        const wrapped = into(signatureOf(signed), bare(signed), "</Signature>")
        return createResponse(
          request,
          now(),
          evilIn(request).replace("<saml:Subject>", `${wrapped}<saml:Subject>`),
        )
      },
    ],
    [
      "XSW7: another assertion in Extensions",
      (request) =>
        createResponse(request, now(), signedIn(request)).replace(
          "<samlp:Status>",
          `<samlp:Extensions>${evilIn(request)}</samlp:Extensions><samlp:Status>`,
        ),
    ],
    [
      "XSW8: the signed assertion in an Object of the signature",
      (request) => {
        const signed = signedIn(request)
        const object = into(signatureOf(signed), `<Object>${bare(signed)}</Object>`, "</Signature>")
        return createResponse(
          request,
          now(),
          evilIn(request).replace("<saml:Subject>", `${object}<saml:Subject>`),
        )
      },
    ],
    [
      "by the same ID",
      (request) =>
        createResponse(request, now(), evilIn(request, "_assertion") + signedIn(request)),
    ],
    [
      "by an ID in other letters",
      (request) =>
        createResponse(request, now(), signedIn(request)).replace(
          ' ID="_response"',
          ' Id="_assertion"',
        ),
    ],
    [
      "two assertions, both signed",
      (request) => {
        const second = signXml(evilIn(request), { by: key })
        return createResponse(request, now(), signedIn(request) + second)
      },
    ],
  ])("%s", async (_, make) => {
    await expectRejected(make)
  })

  test("an assertion that was altered after signing", async () => {
    await expectRejected((request) =>
      createValidResponse(request).replace(/person\d+-id/, "victim"),
    )
  })
})

describe("XML with active content", () => {
  test.each<[string, (xml: string) => string]>([
    ["a file", (xml) => `<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>${xml}`],
    ["entities that grow", (xml) => `<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>${xml}`],
    ["a style sheet", (xml) => `<?xml-stylesheet href="https://evil.example.com/a.xsl"?>${xml}`],
    ["a comment within a name", (xml) => xml.replace(/(person)(\d+-id)/, "$1<!-- -->$2")],
    ["a name in a CDATA section", (xml) => xml.replace(/(person\d+-id)/, "<![CDATA[$1]]>")],
    [
      "a style sheet as a transform",
      (xml) =>
        xml.replace(
          /<Transform Algorithm="[^"]*enveloped-signature"\s*\/>/,
          '<Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"/>',
        ),
    ],
  ])("%s", async (_, change) => {
    await expectRejected((request) => {
      const changed = change(createValidResponse(request))
      expect(changed).not.toBe(createValidResponse(request))
      return changed
    })
  })

  test.each<[string, () => string]>([
    [
      "attributes",
      () =>
        nestedElements(
          17,
          repeat(64, (at) => `a${at}="x"`),
        ),
    ],
    [
      "namespaces",
      () =>
        nestedElements(
          9,
          repeat(60, (at) => `xmlns:n${at}="x"`),
        ),
    ],
    ["elements", () => repeat(550, () => "<saml:Advice></saml:Advice>")],
  ])("with the maximum of %s takes little time", async (_, inside) => {
    const browser = newBrowser(provider)
    const asked = await requestAtProvider(browser, client.id)
    const xml = createValidResponse(asked).replace("</saml:Subject>", `</saml:Subject>${inside()}`)
    const [end, computedMs] = await measureCpu(() =>
      postResponse(provider, browser, { xml, asked }),
    )
    expect(computedMs).toBeLessThan(1000)
    expect(end.page).toContain("Invalid response from the other service")
  })

  test.each<[string, number]>([
    ["as many prefixes as it may", 31],
    ["more than it may", 560],
  ])(
    "takes time in proportion to its size, unsigned, with %s around many elements",
    async (_, prefixCount) => {
      const browser = newBrowser(provider)
      const asked = await requestAtProvider(browser, client.id)
      const xml = createValidResponse(asked)
        .replace(
          "<SignedInfo>",
          `<z:SignedInfo xmlns:z="${dsig}" ${createPrefixes(prefixCount)}>${"<b/>".repeat(1100)}`,
        )
        .replace("</SignedInfo>", "</z:SignedInfo>")
      expect(xml).toContain("z:SignedInfo")
      const [count, stop] = countMapEntries()
      const end = await postResponse(provider, browser, { xml, asked }).finally(stop)
      expect(end.page).toContain("Invalid response from the other service")
      expect(count()).toBeLessThan(20_000)
    },
  )

  test("that is too large is not parsed", async () => {
    const tooLarge = () =>
      sendResponse((request) => createValidResponse(request) + " ".repeat(20_000_000))
    const [end, computedMs] = await measureCpu(tooLarge)
    expect(end.response.status).toBe(400)
    expect(computedMs).toBeLessThan(15_000)
  })
})

describe("encrypted content", () => {
  const sealedFor = (request: SamlRequest, options = {}) => {
    const found = findIdpById(provider.cx(), idpId)
    if (!found) throw new Error("no message provider is configured")
    const signed = signXml(createAssertion(request, now(), createPerson()), { by: key })
    return createResponse(
      request,
      now(),
      encryptXml(signed, certificateOf(provider.cx(), found), options),
    )
  }

  test.each<[string, (request: SamlRequest) => string]>([
    [
      "by CBC, without a signature around it",
      (request) => sealedFor(request, { cipher: "aes-256-cbc" }),
    ],
    ["with a key by PKCS #1 v1.5", (request) => sealedFor(request, { padding: "pkcs1" })],
    [
      "for somebody else",
      (request) =>
        createResponse(
          request,
          now(),
          encryptXml(createAssertion(request, now()), other.certificate),
        ),
    ],
    [
      "and not signed",
      (request) => {
        const found = findIdpById(provider.cx(), idpId)
        if (!found) throw new Error("no message provider is configured")
        const plain = createAssertion(request, now(), victim)
        return createResponse(
          request,
          now(),
          encryptXml(plain, certificateOf(provider.cx(), found)),
        )
      },
    ],
    [
      "and was changed",
      (request) =>
        sealedFor(request)
          .replace(/(<xenc:CipherValue>.{40})./g, "$1A")
          .replace(/A(?==)/, "B"),
    ],
  ])("is rejected %s", async (_, make) => {
    await expectRejected(make)
  })
})

describe("the browser with the response", () => {
  test("signs in once", async () => {
    const browser = newBrowser(provider)
    const asked = await requestAtProvider(browser, client.id)
    const xml = createValidResponse(asked)
    await postResponse(provider, browser, { xml, asked })
    const again = await postResponse(provider, browser, { xml, asked })
    expect(again.page).toContain("expired")
  })

  test("must be the requesting one: another browser gets nothing", async () => {
    const mine = newBrowser(provider)
    const asked = await requestAtProvider(mine, client.id)
    const end = await postResponse(provider, newBrowser(provider), {
      xml: createValidResponse(asked),
      asked,
    })
    expect(end.response.status).toBe(403)
    expect(end.page).toContain("browser")
  })

  test("must have sent a request", async () => {
    const browser = newBrowser(provider)
    const asked = await requestAtProvider(browser, client.id)
    for (const relayState of ["", "https://evil.example.com/", "1.abc"]) {
      const end = await postResponse(provider, browser, {
        xml: createValidResponse(asked),
        asked: { ...asked, relayState },
      })
      expect(end.response.status).toBe(400)
      expect(end.path).not.toContain("evil")
    }
  })

  test("must have requested this provider", async () => {
    const second = await addSaml(provider, idpMetadata([other]))
    const browser = newBrowser(provider)
    const asked = await requestAtProvider(browser, client.id)
    const acs = asked.acs.replace(idpId, second)
    const end = await postResponse(provider, browser, {
      xml: createValidResponse(asked),
      asked: { ...asked, acs },
    })
    expect(end.page).toContain("expired")
  })

  test("by redirect, or at the endpoint of other providers, is rejected", async () => {
    const browser = newBrowser(provider)
    const asked = await requestAtProvider(browser, client.id)
    const { pathname } = new URL(asked.acs)
    const query = new URLSearchParams({
      SAMLResponse: Buffer.from(createValidResponse(asked)).toString("base64"),
      RelayState: asked.relayState,
    })
    expect((await browser.go(`${pathname}?${query}`)).response.status).toBe(400)
    const state = encodeURIComponent(asked.relayState)
    expect((await browser.go(`/idps/callback?state=${state}&code=x`)).page).toContain("expired")
  })
})
