// Whoever signs in with SAML at somebody else's word has read how others were fooled.
import { createHmac, createPublicKey } from "node:crypto"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { idpById } from "../../src/domain/idp/index.ts"
import { certificateOf } from "../../src/domain/idp/saml/pair.ts"
import { answerOf, type NewClient, type Provider } from "../oauth/provider.ts"
import { countBindings } from "../support/bindings.ts"
import { worked } from "../support/work.ts"
import {
  type Asked,
  ada,
  assertionFor,
  encryptedXml,
  enveloped,
  exclusive,
  idpMetadata,
  responseFor,
  type Said,
  type Signing,
  signedXml,
} from "./identity-provider.ts"
import { createKey, openSamlProvider, type ProviderKey, pemOf } from "./service-provider.ts"
import { addSaml, askedFor, bring, newBrowser } from "./upstream.ts"

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

const many = (count: number, make: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => make(at)).join(" ")

const now = () => provider.clock.now()
const minute = 60_000

let people = 0
const person = (): Said => {
  const name = `person${++people}`
  const attributes = { ...ada, Email: `${name}@example.com`, UserName: name }
  return { nameId: `${name}-id`, attributes }
}
const victim: Said = {
  nameId: "victim",
  attributes: { ...ada, Email: "victim@example.com", UserName: "victim" },
}

/** So many elements with these attributes, each within the one before. */
const advice = (count: number, said: string): string =>
  many(count, () => `<saml:Advice ${said}>`) + many(count, () => "</saml:Advice>")

const dsig = "http://www.w3.org/2000/09/xmldsig#"
const prefixed = (count: number): string => many(count, (at) => `xmlns:p${at}="u${at}" p${at}:a=""`)

/** A response as it should be, with what is said otherwise. */
const good = (asked: Asked, said: Said = {}, signing: Partial<Signing> = {}): string =>
  responseFor(
    asked,
    now(),
    signedXml(assertionFor(asked, now(), { ...person(), ...said }), { by: key, ...signing }),
    said,
  )

/** What becomes of a response in the browser that has asked for it. */
async function endOf(make: (asked: Asked) => string) {
  const browser = newBrowser(provider)
  const asked = await askedFor(browser, client.id)
  return bring(provider, browser, { xml: make(asked), asked })
}

async function mustBeRefused(make: (asked: Asked) => string): Promise<void> {
  const end = await endOf(make)
  expect(end.response.status).toBe(400)
  expect(end.page).toContain("Invalid response from the other service")
}

test("a response that is as it should be is believed", async () => {
  expect(answerOf(await endOf((asked) => good(asked)))).toHaveProperty("code")
})

describe("what does not fit is refused:", () => {
  test.each<[string, () => Said]>([
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
  ])("%s", async (_, said) => {
    await mustBeRefused((asked) => good(asked, said()))
  })

  test("an error that brings an assertion along", async () => {
    const end = await endOf((asked) => good(asked, { status: "NoPassive" }))
    expect(end.response.status).toBe(400)
  })
})

describe("signatures", () => {
  test.each<[string, () => Partial<Signing>]>([
    ["of another key", () => ({ by: other })],
    ["by SHA-1", () => ({ algorithm: "http://www.w3.org/2000/09/xmldsig#rsa-sha1" })],
    ["over a digest by SHA-1", () => ({ digest: "http://www.w3.org/2000/09/xmldsig#sha1" })],
    ["over itself", () => ({ transforms: [exclusive] })],
    [
      "over comments, too",
      () => ({ transforms: [enveloped, "http://www.w3.org/2001/10/xml-exc-c14n#WithComments"] }),
    ],
  ])("%s say nothing", async (_, signing) => {
    await mustBeRefused((asked) => good(asked, {}, signing()))
  })

  test("that are missing say nothing", async () => {
    await mustBeRefused((asked) => responseFor(asked, now(), assertionFor(asked, now(), victim)))
  })

  test("of the response by another key are not made good by that of the assertion", async () => {
    await mustBeRefused((asked) => signedXml(good(asked), { by: other, of: "Response" }))
  })

  test("by our public key of theirs, as if it were a secret, say nothing", async () => {
    await mustBeRefused((asked) => {
      const hmac = "http://www.w3.org/2000/09/xmldsig#hmac-sha1"
      const signed = good(asked, victim).replace(/(SignatureMethod Algorithm=")[^"]*/, `$1${hmac}`)
      const info = /<SignedInfo.*<\/SignedInfo>/s.exec(signed)?.[0] ?? ""
      const pem = createPublicKey(pemOf(key.certificate)).export({ format: "pem", type: "spki" })
      const value = createHmac("sha1", pem).update(info).digest("base64")
      return signed.replace(/(<SignatureValue>)[^<]*/, `$1${value}`)
    })
  })

  test("whose key comes along with them say nothing", async () => {
    await mustBeRefused((asked) => {
      const info =
        "<KeyInfo><X509Data><X509Certificate>" +
        `${other.certificate}</X509Certificate></X509Data></KeyInfo></Signature>`
      return good(asked, victim, { by: other }).replace("</Signature>", info)
    })
  })
})

// Somorovsky et al., "On Breaking SAML: Be Whoever You Want to Be" (2012), figure 4.
describe("wrapping: what is signed stands elsewhere than what is read", () => {
  const signedIn = (asked: Asked) => signedXml(assertionFor(asked, now(), person()), { by: key })
  const evilIn = (asked: Asked, id = "_evil") =>
    assertionFor(asked, now(), { ...victim, assertionId: id })
  const signatureOf = (xml: string) => /<Signature .*<\/Signature>/s.exec(xml)?.[0] ?? ""
  const bare = (xml: string) => xml.replace(signatureOf(xml), "")
  const into = (xml: string, inside: string, before = "</saml:Assertion>") =>
    xml.replace(before, `${inside}${before}`)

  test.each<[string, (asked: Asked) => string]>([
    [
      "XSW1: a response around the one that was signed",
      (asked) => {
        const signed = signedXml(responseFor(asked, now(), evilIn(asked, "_x")), {
          by: key,
          of: "Response",
        })
        const evil = responseFor(asked, now(), evilIn(asked)).replace('"_response"', '"_evil1"')
        return into(evil, into(signatureOf(signed), bare(signed), "</Signature>"), "<samlp:Status>")
      },
    ],
    [
      "XSW2: the signed response before the signature",
      (asked) => {
        const signed = signedXml(responseFor(asked, now(), evilIn(asked, "_x")), {
          by: key,
          of: "Response",
        })
        const evil = responseFor(asked, now(), evilIn(asked)).replace('"_response"', '"_evil1"')
        return into(evil, bare(signed) + signatureOf(signed), "<samlp:Status>")
      },
    ],
    [
      "XSW3: an assertion before the signed one",
      (asked) => responseFor(asked, now(), evilIn(asked) + signedIn(asked)),
    ],
    [
      "XSW4: the signed assertion within another",
      (asked) => responseFor(asked, now(), into(evilIn(asked), signedIn(asked))),
    ],
    [
      "XSW5: another assertion with the signature, the signed one after it",
      (asked) => {
        const signed = signedIn(asked)
        const evil = evilIn(asked).replace("<saml:Subject>", `${signatureOf(signed)}<saml:Subject>`)
        return responseFor(asked, now(), evil + bare(signed))
      },
    ],
    [
      "XSW6: the signed assertion within the signature of another",
      (asked) => {
        const signed = signedIn(asked)
        const wrapped = into(signatureOf(signed), bare(signed), "</Signature>")
        return responseFor(
          asked,
          now(),
          evilIn(asked).replace("<saml:Subject>", `${wrapped}<saml:Subject>`),
        )
      },
    ],
    [
      "XSW7: another assertion in Extensions",
      (asked) =>
        responseFor(asked, now(), signedIn(asked)).replace(
          "<samlp:Status>",
          `<samlp:Extensions>${evilIn(asked)}</samlp:Extensions><samlp:Status>`,
        ),
    ],
    [
      "XSW8: the signed assertion in an Object of the signature",
      (asked) => {
        const signed = signedIn(asked)
        const object = into(signatureOf(signed), `<Object>${bare(signed)}</Object>`, "</Signature>")
        return responseFor(
          asked,
          now(),
          evilIn(asked).replace("<saml:Subject>", `${object}<saml:Subject>`),
        )
      },
    ],
    [
      "by the same ID",
      (asked) => responseFor(asked, now(), evilIn(asked, "_assertion") + signedIn(asked)),
    ],
    [
      "by an ID in other letters",
      (asked) =>
        responseFor(asked, now(), signedIn(asked)).replace(' ID="_response"', ' Id="_assertion"'),
    ],
    [
      "two assertions, both signed",
      (asked) => {
        const second = signedXml(evilIn(asked), { by: key })
        return responseFor(asked, now(), signedIn(asked) + second)
      },
    ],
  ])("%s", async (_, make) => {
    await mustBeRefused(make)
  })

  test("an assertion that was changed after it was signed", async () => {
    await mustBeRefused((asked) => good(asked).replace(/person\d+-id/, "victim"))
  })
})

describe("XML that does more than say something", () => {
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
    await mustBeRefused((asked) => {
      const changed = change(good(asked))
      expect(changed).not.toBe(good(asked))
      return changed
    })
  })

  test.each<[string, () => string]>([
    [
      "attributes",
      () =>
        advice(
          17,
          many(64, (at) => `a${at}="x"`),
        ),
    ],
    [
      "namespaces",
      () =>
        advice(
          9,
          many(60, (at) => `xmlns:n${at}="x"`),
        ),
    ],
    ["elements", () => many(550, () => "<saml:Advice></saml:Advice>")],
  ])("that has as many %s as it may takes little time", async (_, inside) => {
    const browser = newBrowser(provider)
    const asked = await askedFor(browser, client.id)
    const xml = good(asked).replace("</saml:Subject>", `</saml:Subject>${inside()}`)
    const [end, computedMs] = await worked(() => bring(provider, browser, { xml, asked }))
    expect(computedMs).toBeLessThan(1000)
    expect(end.page).toContain("Invalid response from the other service")
  })

  test.each<[string, number]>([
    ["as many prefixes as it may", 31],
    ["more than it may", 560],
  ])("costs what it has, unsigned, with %s around many elements", async (_, prefixCount) => {
    const browser = newBrowser(provider)
    const asked = await askedFor(browser, client.id)
    const xml = good(asked)
      .replace(
        "<SignedInfo>",
        `<z:SignedInfo xmlns:z="${dsig}" ${prefixed(prefixCount)}>${"<b/>".repeat(1100)}`,
      )
      .replace("</SignedInfo>", "</z:SignedInfo>")
    expect(xml).toContain("z:SignedInfo")
    const [count, stop] = countBindings()
    const end = await bring(provider, browser, { xml, asked }).finally(stop)
    expect(end.page).toContain("Invalid response from the other service")
    expect(count()).toBeLessThan(20_000)
  })

  test("that is too large is not read", async () => {
    const tooLarge = () => endOf((asked) => good(asked) + " ".repeat(20_000_000))
    const [end, computedMs] = await worked(tooLarge)
    expect(end.response.status).toBe(400)
    expect(computedMs).toBeLessThan(15_000)
  })
})

describe("what is encrypted", () => {
  const sealedFor = (asked: Asked, options = {}) => {
    const found = idpById(provider.cx(), idpId)
    if (!found) throw new Error("there is no provider")
    const signed = signedXml(assertionFor(asked, now(), person()), { by: key })
    return responseFor(
      asked,
      now(),
      encryptedXml(signed, certificateOf(provider.cx(), found), options),
    )
  }

  test.each<[string, (asked: Asked) => string]>([
    [
      "by CBC, without a signature around it",
      (asked) => sealedFor(asked, { cipher: "aes-256-cbc" }),
    ],
    ["with a key by PKCS #1 v1.5", (asked) => sealedFor(asked, { padding: "pkcs1" })],
    [
      "for somebody else",
      (asked) =>
        responseFor(asked, now(), encryptedXml(assertionFor(asked, now()), other.certificate)),
    ],
    [
      "and not signed",
      (asked) => {
        const found = idpById(provider.cx(), idpId)
        if (!found) throw new Error("there is no provider")
        const plain = assertionFor(asked, now(), victim)
        return responseFor(asked, now(), encryptedXml(plain, certificateOf(provider.cx(), found)))
      },
    ],
    [
      "and was changed",
      (asked) =>
        sealedFor(asked)
          .replace(/(<xenc:CipherValue>.{40})./g, "$1A")
          .replace(/A(?==)/, "B"),
    ],
  ])("is refused %s", async (_, make) => {
    await mustBeRefused(make)
  })
})

describe("who brings it", () => {
  test("gets in once", async () => {
    const browser = newBrowser(provider)
    const asked = await askedFor(browser, client.id)
    const xml = good(asked)
    await bring(provider, browser, { xml, asked })
    const again = await bring(provider, browser, { xml, asked })
    expect(again.page).toContain("expired")
  })

  test("is who has asked: another browser gets nothing of it", async () => {
    const mine = newBrowser(provider)
    const asked = await askedFor(mine, client.id)
    const end = await bring(provider, newBrowser(provider), { xml: good(asked), asked })
    expect(end.response.status).toBe(403)
    expect(end.page).toContain("browser")
  })

  test("has asked at all", async () => {
    const browser = newBrowser(provider)
    const asked = await askedFor(browser, client.id)
    for (const relayState of ["", "https://evil.example.com/", "1.abc"]) {
      const end = await bring(provider, browser, {
        xml: good(asked),
        asked: { ...asked, relayState },
      })
      expect(end.response.status).toBe(400)
      expect(end.path).not.toContain("evil")
    }
  })

  test("has asked this provider: what was for another one is nothing", async () => {
    const second = await addSaml(provider, idpMetadata([other]))
    const browser = newBrowser(provider)
    const asked = await askedFor(browser, client.id)
    const acs = asked.acs.replace(idpId, second)
    const end = await bring(provider, browser, { xml: good(asked), asked: { ...asked, acs } })
    expect(end.page).toContain("expired")
  })

  test("by an address, or to the address of other providers, is refused", async () => {
    const browser = newBrowser(provider)
    const asked = await askedFor(browser, client.id)
    const { pathname } = new URL(asked.acs)
    const query = new URLSearchParams({
      SAMLResponse: Buffer.from(good(asked)).toString("base64"),
      RelayState: asked.relayState,
    })
    expect((await browser.go(`${pathname}?${query}`)).response.status).toBe(400)
    const state = encodeURIComponent(asked.relayState)
    expect((await browser.go(`/idps/callback?state=${state}&code=x`)).page).toContain("expired")
  })
})
