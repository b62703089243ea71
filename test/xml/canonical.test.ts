import { generateKeyPairSync } from "node:crypto"
import { describe, expect, test } from "vitest"
import { ExclusiveCanonicalization, SignedXml } from "xml-crypto"
import { canonicalize } from "../../src/xml/canonical.ts"
import { isElement, parseXml } from "../../src/xml/document.ts"
import {
  digestNames,
  envelopedTransform,
  exclusiveC14n,
  signatureNames,
} from "../../src/xml/names.ts"
import {
  type Element,
  findAll,
  findChild,
  type MessageReading,
  readMessage,
} from "../../src/xml/read.ts"
import { verifySignedElement } from "../../src/xml/verify.ts"
import { countMapEntries } from "../support/map-entry-count.ts"

const reading: MessageReading = {
  name: "the message",
  refusedError: (message) => new Error(message),
}
const read = (xml: string) => readMessage(xml, reading)

/** The element whose ID is "it", or the root. */
const targetElement = (root: Element): Element =>
  Array.from(root.getElementsByTagName("*")).find((each) => each.getAttribute("ID") === "it") ??
  root

describe("Exclusive XML Canonicalization 1.0 writes", () => {
  test.each<[what: string, xml: string, expected: string, inclusive?: readonly string[]]>([
    ["an empty element with its end", "<a/>", "<a></a>"],
    ["attributes in order", '<a z="1" b="2"/>', '<a b="2" z="1"></a>'],
    [
      "attributes by their namespaces, those without one first (C14N 1.0 §2.2)",
      '<a xmlns:z="urn:1" xmlns:b="urn:2" b:c="1" z:d="2" e="3"/>',
      '<a xmlns:b="urn:2" xmlns:z="urn:1" e="3" z:d="2" b:c="1"></a>',
    ],
    ["one kind of quotes", "<a b='\"'/>", '<a b="&quot;"></a>'],
    [
      "signs in texts and attributes (C14N 1.0 §2.3)",
      '<a b="&lt;&amp;&#9;&#10;&#13;>">&lt;&gt;&amp;&#13;"\t</a>',
      '<a b="&lt;&amp;&#x9;&#xA;&#xD;>">&lt;&gt;&amp;&#xD;"\t</a>',
    ],
    ["line ends as XML 1.0 §2.11 reads them", "<a>1\r\n2\r3</a>", "<a>1\n2\n3</a>"],
    ["what XML 1.1 takes for line ends as it is", "<a>\u0085\u2028</a>", "<a>\u0085\u2028</a>"],
    ["no namespace that nobody uses", '<a xmlns:b="urn:1"><c/></a>', "<a><c></c></a>"],
    [
      "one where it is used, and once",
      '<a xmlns:b="urn:1"><b:c><b:d/></b:c><b:e/></a>',
      '<a><b:c xmlns:b="urn:1"><b:d></b:d></b:c><b:e xmlns:b="urn:1"></b:e></a>',
    ],
    [
      "one that is bound anew, and back",
      '<b:a xmlns:b="urn:1"><b:c xmlns:b="urn:2"><b:d xmlns:b="urn:1"/></b:c></b:a>',
      '<b:a xmlns:b="urn:1"><b:c xmlns:b="urn:2"><b:d xmlns:b="urn:1"></b:d></b:c></b:a>',
    ],
    [
      "the end of a default namespace",
      '<a xmlns="urn:1"><b xmlns=""><c/></b></a>',
      '<a xmlns="urn:1"><b xmlns=""><c></c></b></a>',
    ],
    [
      "xml:lang, and not that of what stands around (its §2.2)",
      '<n0:a xmlns:n0="a:b" xml:lang="en"><n1:b xmlns:n1="b:c" xml:space="x" ID="it"/></n0:a>',
      '<n1:b xmlns:n1="b:c" ID="it" xml:space="x"></n1:b>',
    ],
    [
      "an element without what stands around it (its §2.2)",
      '<n0:a xmlns:n0="a:b" xmlns:n3="c:d"><n1:b xmlns:n1="b:c" ID="it"><n3:c/></n1:b></n0:a>',
      '<n1:b xmlns:n1="b:c" ID="it"><n3:c xmlns:n3="c:d"></n3:c></n1:b>',
    ],
    [
      "inclusive prefixes where they are bound (its §3)",
      '<a xmlns:xs="urn:1" xmlns:n="urn:2"><b ID="it"><c xmlns:xs="urn:3"/></b></a>',
      '<b xmlns:xs="urn:1" ID="it"><c xmlns:xs="urn:3"></c></b>',
      ["xs", "not"],
    ],
    [
      "the default namespace as an inclusive one",
      '<n:a xmlns="urn:1" xmlns:n="urn:2"><n:b ID="it"><n:c xmlns=""/></n:b></n:a>',
      '<n:b xmlns="urn:1" xmlns:n="urn:2" ID="it"><n:c xmlns=""></n:c></n:b>',
      ["#default"],
    ],
  ])("%s", async (_, xml, expected, inclusive = []) => {
    expect(canonicalize(targetElement(await read(xml)), inclusive)).toBe(expected)
  })
})

/** A deterministic number generator. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const values = [
  "",
  "x",
  "&amp;",
  "&lt;",
  "&gt;",
  '"'.replace('"', "&quot;"),
  "&#13;",
  "&#10;",
  "ä€𝄞",
]
const prefixes = ["", "a:", "b:", "c:"]

/** A plausible document; each prefix has one namespace, the default has several. */
function randomDocument(below: (most: number) => number, defaults: readonly string[]): string {
  const one = <Item>(things: readonly Item[], otherwise: Item) =>
    things[below(things.length)] ?? otherwise
  const some = (most: number, make: () => string) =>
    Array.from({ length: below(most) }, make).join("")
  const inside = (depth: number): string => {
    const name = `${one(prefixes, "")}e${below(3)}`
    const names = [
      ...new Set(Array.from({ length: below(4) }, () => `${one(prefixes, "")}t${below(4)}`)),
    ]
    const said = names.map((each) => ` ${each}="${one(values, "")}"`).join("")
    const binds = below(4) === 0 ? ` xmlns="${one(defaults, "")}"` : ""
    const again = below(4) === 0 ? ' xmlns:b="urn:b"' : ""
    const children =
      depth > 4 ? "" : some(4, () => (below(3) === 0 ? one(values, "") : inside(depth + 1)))
    return `<${name}${again}${said}${binds}>${children}</${name}>`
  }
  return `<a:root xmlns:a="urn:a" xmlns:b="urn:b" xmlns:c="urn:c?x=1">${inside(0)}</a:root>`
}

/** The content of an element: names, attributes, and texts, independent of prefixes. */
const contentOf = (of: Element): unknown => [
  of.namespaceURI,
  of.localName,
  Array.from(of.attributes)
    .filter(({ namespaceURI }) => namespaceURI !== "http://www.w3.org/2000/xmlns/")
    .map(({ namespaceURI, localName, value }) => JSON.stringify([namespaceURI, localName, value]))
    .sort(),
  Array.from(of.childNodes, (child) => (isElement(child) ? contentOf(child) : child.nodeValue)),
]

describe("any document", () => {
  const below = randomNumbers(7)
  const documents = Array.from({ length: 100 }, () => randomDocument(below, ["urn:x", "urn:y"]))

  test("is serialized like in the library, for each element", async () => {
    const library = new ExclusiveCanonicalization()
    for (const xml of documents) {
      const root = await read(xml)
      for (const each of [root, ...Array.from(root.getElementsByTagName("*"))]) {
        expect(canonicalize(each)).toBe(library.processInner(each, [], "", {}, []))
      }
    }
  })

  test("is equal when parsed again", async () => {
    // The library undeclares a default namespace once too often, so these are not compared with it.
    const ended = Array.from({ length: 100 }, () => randomDocument(below, ["", "urn:x"]))
    for (const xml of ended) {
      const root = await read(xml)
      const again = await read(canonicalize(root))
      expect(contentOf(again)).toEqual(contentOf(root))
      expect(canonicalize(again)).toBe(canonicalize(root))
    }
  })
})

test.each<[string, readonly string[]]>([
  ["declared", []],
  ["inclusive", ["p0", "p1", "p2"]],
])("prefixes that are %s cost once, not for each nested element", async (_, inclusive) => {
  const [prefixCount, elementCount] = [500, 1000]
  const said = Array.from({ length: prefixCount }, (_, at) => `xmlns:p${at}="u${at}" p${at}:a=""`)
  // Each `c` needs the default namespace again, because its parent has none.
  const within = '<b xmlns=""><c xmlns="d"/></b>'.repeat(elementCount / 2)
  const xml = `<r:r xmlns="d" xmlns:r="r" ${said.join(" ")}>${within}</r:r>`
  const root = await parseXml(xml, { ...reading, bytesMax: xml.length, bounds: [] })
  if (!root) throw new Error("there is no root")
  const [count, stop] = countMapEntries()
  const text = canonicalize(root, inclusive)
  stop()
  const bindings = count()
  expect(text).toContain(` xmlns:p${prefixCount - 1}="u${prefixCount - 1}"`)
  expect(text.split('<b><c xmlns="d"></c></b>')).toHaveLength(elementCount / 2 + 1)
  expect(bindings).toBeGreaterThan(prefixCount)
  expect(bindings).toBeLessThan(5 * prefixCount + (5 + inclusive.length) * elementCount)
})

describe("a signature by the library", () => {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  })
  const keys = [publicKey]

  function signed(xml: string, hash: "sha256" | "sha512", inclusive: string[] = []): string {
    const signature = new SignedXml({
      privateKey,
      signatureAlgorithm: signatureNames[hash],
      canonicalizationAlgorithm: exclusiveC14n,
    })
    signature.addReference({
      xpath: "//*[@ID='it']",
      digestAlgorithm: digestNames[hash],
      transforms: [envelopedTransform, exclusiveC14n],
      inclusiveNamespacesPrefixList: inclusive,
    })
    signature.computeSignature(xml, { location: { reference: "//*[@ID='it']", action: "append" } })
    return signature.getSignedXml()
  }

  async function checked(xml: string): Promise<Element | undefined> {
    const of = targetElement(await read(xml))
    const signature = findChild(of, ["ds", "Signature"], reading)
    return signature && verifySignedElement({ of, signature }, { keys, reading })
  }

  const around = (inside: string) =>
    `<r xmlns="urn:r" xmlns:xs="urn:xs" xmlns:p="urn:p">${inside}<other/></r>`

  test.each<[string, string]>([
    ["sha256", signed(around('<p:a ID="it"><b c="&#13;">ä</b></p:a>'), "sha256")],
    ["sha512", signed(around('<p:a ID="it"><b c="&#13;">ä</b></p:a>'), "sha512")],
    // As OpenSAML signs typed values.
    ["a prefix in a value", signed(around('<p:a ID="it"><b t="xs:x"/></p:a>'), "sha256", ["xs"])],
  ])("is valid: %s", async (_, xml) => {
    const of = await checked(xml)
    expect(of?.getAttribute("ID")).toBe("it")
    // A separate document, without its context and signature.
    expect(of?.parentNode).toBeNull()
    expect(of && findAll(of, "ds", "Signature")).toEqual([])
  })

  test.each<[string, (xml: string) => string]>([
    ["an element of nobody", (xml) => xml.replace("</SignedInfo>", "<b/>$&")],
    ["another of XML Signature", (xml) => xml.replace("</SignedInfo>", "<KeyInfo/>$&")],
    ["one beside a digest", (xml) => xml.replace("</Reference>", "<b/>$&")],
    ["one beside a transform", (xml) => xml.replace("</Transforms>", "<b/>$&")],
    ["a parameter", (xml) => xml.replace(/(<DigestMethod [^>]*)\/>/, "$1><b/></DigestMethod>")],
    ["prefixes twice", (xml) => xml.replaceAll(/<InclusiveNamespaces [^>]*>/g, "$&$&")],
    [
      "more within those",
      (xml) => xml.replaceAll(/(<(InclusiveNamespaces) [^>]*)\/>/g, "$1><b/></$2>"),
    ],
  ])("is rejected with more in its SignedInfo: %s", async (_, change) => {
    const xml = signed(around('<p:a ID="it"><b t="xs:x"/></p:a>'), "sha256", ["xs"])
    expect(change(xml)).not.toBe(xml)
    await expect(checked(change(xml))).rejects.toThrow("elements in its SignedInfo")
  })

  test("is rejected if a lone surrogate would be serialized like signed text", async () => {
    const xml = signed('<a ID="it">x\ufffdy</a>', "sha256")
    const now = await checked(xml.replace("\ufffd", "&#xD800;")).catch(() => undefined)
    expect(now).toBeUndefined()
  })

  test("is rejected after any change", async () => {
    const xml = signed(around('<p:a ID="it" b="1">text<c/></p:a>'), "sha256", ["xs"])
    const changes: readonly (readonly [from: string, to: string])[] = [
      ['b="1"', 'b="2"'],
      ["text", "Text"],
      ["text", "te&#xD800;xt"],
      ["text", "text "],
      ["<c/>", "<d/>"],
      ["<c/>", '<c e=""/>'],
      ["<c/>", '<c xmlns=""/>'],
      ["<p:a", '<p:a xml:lang="de"'],
      ["urn:p", "urn:q"],
      ["urn:xs", "urn:q"],
    ]
    for (const [from, to] of changes) {
      expect(xml).toContain(from)
      const now = await checked(xml.replaceAll(from, to)).catch(() => undefined)
      expect([to, now]).toEqual([to, undefined])
    }
    // Unsigned parts can differ.
    expect(await checked(xml.replace("<other/>", "<else/>"))).toBeDefined()
  })
})
