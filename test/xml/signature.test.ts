// Tests the library's results with published attacks.
import { createHash, generateKeyPairSync, sign } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { ExclusiveCanonicalization } from "xml-crypto"
import { canonicalize } from "../../src/xml/canonical.ts"
import {
  digestNames,
  envelopedTransform,
  exclusiveC14n,
  namespaces,
  signatureNames,
} from "../../src/xml/names.ts"
import {
  type Element,
  findChild,
  type MessageReading,
  readMessage,
  requireText,
  responseSize,
} from "../../src/xml/read.ts"
import { signElement } from "../../src/xml/sign.ts"
import { signedReferences } from "../../src/xml/signature.ts"
import { verifySignedElement } from "../../src/xml/verify.ts"
import { element, serialize } from "../../src/xml/write.ts"
import { certificateOf, xmlSigner } from "../fuzz/engine/saml.ts"

const reading: MessageReading = {
  name: "the message",
  size: responseSize,
  refusedError: (message) => new Error(message),
}
const [ours, other] = [1, 2].map(() => generateKeyPairSync("rsa", { modulusLength: 2048 }))
if (!ours || !other) throw new Error("there are no keys")
const publicPem = ours.publicKey.export({ format: "pem", type: "spki" }).toString()
const signerOf = async ({ privateKey }: typeof ours) =>
  xmlSigner(privateKey, await certificateOf(privateKey))

const assertion = (name: string, ID = "_a") =>
  element(
    "saml:Assertion",
    { ID },
    element("saml:Issuer", {}, "https://idp.example.com"),
    element("saml:Subject", {}, element("saml:NameID", {}, name)),
  )

const signedBy = async (pair: typeof ours, name = "ada", ID = "_a") =>
  serialize(await signElement(assertion(name, ID), 1, await signerOf(pair)))

async function verifySignature(xml: string): Promise<Element | undefined> {
  const of = await readMessage(xml, reading)
  const signature = findChild(of, ["ds", "Signature"], reading)
  return signature && verifySignedElement({ of, signature }, { keys: [publicPem], reading })
}

const nameIn = (of: Element | undefined): string => {
  const subject = of && findChild(of, ["saml", "Subject"], reading)
  return requireText(subject && findChild(subject, ["saml", "NameID"], reading), reading)
}

/** The library's own result for a document with one signature. */
async function libraryResult(xml: string): Promise<readonly string[]> {
  const of = await readMessage(xml, reading)
  const signature = findChild(of, ["ds", "Signature"], reading)
  const info = signature && findChild(signature, ["ds", "SignedInfo"], reading)
  if (!signature || !info) throw new Error("there is no signature")
  return signedReferences(xml, signature.toString(), { key: publicPem, info: canonicalize(info) })
}

test("returns the signed element as a separate document", async () => {
  const xml = await signedBy(ours, 'Ada <&> "Lovelace"')
  expect(nameIn(await verifySignature(xml))).toBe('Ada <&> "Lovelace"')
  expect(await libraryResult(xml)).toEqual([serialize(assertion('Ada <&> "Lovelace"'))])
})

test("a signature after that of a nested element has its surrounding namespaces only", async () => {
  const ds = `xmlns:ds="${namespaces.ds}"`
  const prefixes = `<ec:InclusiveNamespaces xmlns:ec="${exclusiveC14n}" PrefixList="xs"/>`
  const inner = (await signedBy(ours, "ada", "_b")).replace(
    "<saml:Assertion ",
    '<saml:Assertion xmlns:xs="urn:inner" ',
  )
  const whole = (signature: string) =>
    `<samlp:Response xmlns:samlp="${namespaces.samlp}" xmlns:xs="urn:outer" ID="_r">` +
    `${inner}${signature}</samlp:Response>`
  const digest = createHash("sha256")
    .update(canonicalize(await readMessage(whole(""), reading)))
    .digest("base64")
  const algorithm = (name: string, of: string, inside = "") =>
    `<ds:${name} Algorithm="${of}">${inside}</ds:${name}>`
  const info =
    `<ds:SignedInfo>${algorithm("CanonicalizationMethod", exclusiveC14n, prefixes)}` +
    `${algorithm("SignatureMethod", signatureNames.sha256)}<ds:Reference URI="#_r">` +
    `<ds:Transforms>` +
    `${algorithm("Transform", envelopedTransform)}` +
    `${algorithm("Transform", exclusiveC14n)}</ds:Transforms>` +
    `${algorithm("DigestMethod", digestNames.sha256)}<ds:DigestValue>${digest}</ds:DigestValue>` +
    "</ds:Reference></ds:SignedInfo>"
  const signature = (value: string) =>
    `<ds:Signature ${ds}>${info}<ds:SignatureValue>${value}</ds:SignatureValue></ds:Signature>`
  const root = await readMessage(whole(signature("")), reading)
  const outer = findChild(root, ["ds", "Signature"], reading)
  const read = outer && findChild(outer, ["ds", "SignedInfo"], reading)
  const text = read ? canonicalize(read, ["xs"]) : ""
  expect(text).toContain('xmlns:xs="urn:outer"')
  const value = sign("sha256", Buffer.from(text), ours.privateKey).toString("base64")
  expect((await verifySignature(whole(signature(value))))?.localName).toBe("Response")
})

test("characters that XML 1.1 treats as line ends stay unchanged", async () => {
  const name = "a\u2028b\u0085c\rd\u{1f600}"
  const xml = await signedBy(ours, name)
  expect(nameIn(await verifySignature(xml))).toBe(name)
  // As any other XML 1.0 parser digests it.
  const digest = createHash("sha256")
    .update(serialize(assertion(name)))
    .digest("base64")
  expect(xml).toContain(`<ds:DigestValue>${digest}</ds:DigestValue>`)
})

test("a signed element does not cover its parent or siblings", async () => {
  const inner = await signedBy(ours, "ada", "_b")
  const both = await signElement(
    { ...assertion("eve"), children: [...assertion("eve").children, { xml: inner }] },
    1,
    await signerOf(other),
  )
  expect(await verifySignature(serialize(both))).toBeUndefined()
  const whole = await signElement({ ...both, children: both.children.toSpliced(1, 1) }, 1, {
    ...(await signerOf(ours)),
  })
  expect(nameIn(await verifySignature(serialize(whole)))).toBe("eve")
})

describe("published attacks fail", () => {
  const decoy = "A".repeat(43)
  const change = (from: RegExp, to: string) => (xml: string) => {
    expect(xml).toMatch(from)
    return xml.replace(from, to)
  }

  test.each<[string, (xml: string) => string]>([
    [
      "CVE-2025-29774: a second SignedInfo",
      change(/(<ds:SignedInfo>.*<\/ds:SignedInfo>)/s, "<ds:SignedInfo></ds:SignedInfo>$1"),
    ],
    [
      "the same, in another namespace",
      change(/(<ds:SignedInfo>.*<\/ds:SignedInfo>)/s, '<SignedInfo xmlns="urn:x"></SignedInfo>$1'),
    ],
    [
      "CVE-2025-29775 (SAMLStorm): a comment in DigestValue",
      change(/<ds:DigestValue>/, `$&<!--${decoy}=-->`),
    ],
    ["the same, by a processing instruction", change(/<ds:DigestValue>/, `$&<?x ${decoy}=?>`)],
    ["the same, by an element", change(/<ds:DigestValue>/, `$&<x>${decoy}=</x>`)],
    [
      "two DigestValues",
      change(/<ds:DigestValue>/, `<ds:DigestValue>${decoy}=</ds:DigestValue>$&`),
    ],
    [
      "one of them in another namespace",
      change(/<ds:DigestValue>/, `<DigestValue xmlns="urn:x">${decoy}=</DigestValue>$&`),
    ],
    [
      "a Reference to another resource in another namespace",
      change(/<ds:Reference /, '<Reference xmlns="urn:x" URI="#_b"/>$&'),
    ],
    [
      "another canonicalization ahead of the one that is signed",
      change(
        /<ds:SignedInfo>/,
        `<x><CanonicalizationMethod Algorithm="${exclusiveC14n}WithComments"/></x>$&`,
      ),
    ],
    [
      "a SignatureValue in another namespace",
      change(/<ds:SignatureValue>/, '<SignatureValue xmlns="urn:x">AAAA</SignatureValue>$&'),
    ],
    ["CVE-2022-39353: several roots", (xml) => `${xml}<evil/>`],
    ["the same, ahead", (xml) => `<evil/>${xml}`],
    ["text behind the root", (xml) => `${xml}evil`],
    [
      "CVE-2025-25291: a document type that ends later for another parser",
      (xml) => `<!DOCTYPE x [<!NOTATION x SYSTEM "x" ">]><!--'">]>-->${xml}`,
    ],
    [
      "CVE-2025-25292: a prefix that is bound twice",
      change(/ xmlns:saml="/, ' xmlns:saml="urn:x"$&'),
    ],
    ["another name", change(/ada/, "eve")],
    ["another ID", change(/ ID="_a"/, ' ID="_b"')],
    ["the ID in other letters", change(/ ID="_a"/, ' Id="_a"')],
  ])("%s", async (_, attack) => {
    const xml = attack(await signedBy(ours))
    expect(await verifySignature(xml).catch(() => undefined)).toBeUndefined()
  })

  test("CVE-2024-32962: ignores the certificate in KeyInfo", async () => {
    const xml = await signedBy(other)
    expect(xml).toContain("<ds:X509Certificate>")
    expect(await verifySignature(xml)).toBeUndefined()
    expect(await libraryResult(xml)).toEqual([])
  })

  test("rejects an empty digest", async () => {
    const xml = await signedBy(ours)
    const empty = createHash("sha256").update("").digest("base64")
    const info = /<ds:SignedInfo>.*<\/ds:SignedInfo>/s.exec(xml)?.[0] ?? ""
    const forged = info.replace(/(<ds:DigestValue>)[^<]*/, `$1${empty}`)
    const root = await readMessage(
      `<ds:SignedInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#">${forged.slice(15)}`,
      reading,
    )
    const value = sign("sha256", Buffer.from(canonicalize(root)), ours.privateKey).toString(
      "base64",
    )
    const signedNothing = xml
      .replace(info, forged)
      .replace(/(<ds:SignatureValue>)[^<]*/, `$1${value}`)
    expect(await verifySignature(signedNothing)).toBeUndefined()
  })
})

describe("the library without our checks returns nothing", () => {
  test.each<[string, RegExp, string]>([
    ["by SHA-1", /xmldsig-more#rsa-sha256/, "../2000/09/xmldsig#rsa-sha1"],
    ["by a shared secret", /http:[^"]*#rsa-sha256/, "http://www.w3.org/2000/09/xmldsig#hmac-sha1"],
    ["by PSS", /http:[^"]*#rsa-sha256/, "http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1"],
    ["with comments", /(xml-exc-c14n#)"/, '$1WithComments"'],
    [
      "by inclusive canonicalization",
      /http:[^"]*xml-exc-c14n#/,
      "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
    ],
    ["by a name that every object has", /http:[^"]*xml-exc-c14n#/, "constructor"],
    ["with a quote in its reference", /URI="#_a"/, `URI="#_a' or '1'='1"`],
  ])("%s", async (_, from, to) => {
    const xml = await signedBy(ours)
    expect(await libraryResult(xml)).toHaveLength(1)
    expect(xml).toMatch(from)
    expect(await libraryResult(xml.replace(from, to))).toEqual([])
  })
})

test("rejects a namespace that canonicalization would repeat without limit", async () => {
  const long = `urn:${"x".repeat(300)}`
  const xml = `<a xmlns:p="${long}">${"<p:b/>".repeat(2000)}</a>`
  await expect(readMessage(xml, reading)).rejects.toThrow(
    "a namespace with more than 300 characters",
  )
  const least = `<a xmlns:p="${long.slice(0, 300)}">${"<p:b/>".repeat(2000)}</a>`
  expect(canonicalize(await readMessage(least, reading)).length).toBeLessThan(700_000)
})

test.each(["sign", "verify", "encrypt", "decrypt", "read"])(
  "%s.ts loads no library before a call",
  (name) => {
    const text = readFileSync(join(import.meta.dirname, `../../src/xml/${name}.ts`), "utf8")
    expect(text).not.toMatch(/from "(xml-crypto|xml-encryption|\.\/signature\.ts)"/)
  },
)

/** Once none of these fail, the library's canonicalization can replace ours. */
test.each<[string, string, readonly string[]]>([
  ["ends a default namespace again and again", '<a xmlns="urn:1"><b xmlns=""><c/></b></a>', []],
  ["escapes no namespaces", '<p:a xmlns:p="urn:1?a=1&amp;b=2"/>', []],
  ["sorts prefixes as a dictionary", '<a xmlns:B="urn:1" xmlns:a="urn:2" B:x="" a:y=""/>', []],
  ["sorts joined names", '<a xmlns:p="urn:1" xmlns:q="urn:1a" p:zz="" q:b=""/>', []],
  ["drops attributes that begin with xmlns", '<a xmlnsx="1"/>', []],
  ["knows no #default", '<p:a xmlns="urn:1" xmlns:p="urn:2"/>', ["#default"]],
])("the library's own canonicalization still %s", async (_, xml, inclusive) => {
  const root = await readMessage(xml, reading)
  const library = new ExclusiveCanonicalization()
  expect(library.processInner(root, [], "", {}, [...inclusive])).not.toBe(
    canonicalize(root, inclusive),
  )
})
