// The most expensive message that a provider can send, also with an attacker's valid signature.
import { generateKeyPairSync } from "node:crypto"
import { expect, test } from "vitest"
import { canonicalize } from "../../src/xml/canonical.ts"
import { findChild, type MessageReading, readMessage, responseSize } from "../../src/xml/read.ts"
import { signElement } from "../../src/xml/sign.ts"
import { verifySignedElement } from "../../src/xml/verify.ts"
import { element, serialize } from "../../src/xml/write.ts"
import { certificateOf, xmlSigner } from "../fuzz/engine/saml.ts"
import { measureCpu } from "../support/cpu-time.ts"

const reading: MessageReading = {
  name: "the message",
  size: responseSize,
  refusedError: (message) => new Error(message),
}

const listOf = (count: number, make: (at: number) => string, joint = "") =>
  Array.from({ length: count }, (_, at) => make(at)).join(joint)
const uri = `urn:${"x".repeat(60)}`
const namespaces = (count: number, end = "") =>
  listOf(count, (at) => `xmlns:p${at}="${uri}${at}${end}"`, " ")
const inclusivePrefixes = Array.from({ length: 20 }, (_, at) => `p${at}`)

/** The limit of the computing time in ms: the same thread serves other requests. */
const computedMax = 50

test.each<[string, string]>([
  ["2,390 elements", `<a>${"<b/>".repeat(2390)}</a>`],
  ["the deepest stacks", `<a>${("<b>".repeat(38) + "</b>".repeat(38)).repeat(31)}</a>`],
  [
    "the most attributes",
    `<a>${`<b ${listOf(60, (at) => `a${at}="${"y".repeat(100)}"`, " ")}/>`.repeat(50)}</a>`,
  ],
  ["a namespace for each", `<a ${namespaces(50)}>${'<p1:b p1:q="1"/>'.repeat(2340)}</a>`],
  ["a namespace in each", `<a>${listOf(2300, (at) => `<p:b xmlns:p="${uri}${at}"/>`)}</a>`],
  [
    "inclusive namespaces around each",
    `<a ${namespaces(20)}>${listOf(
      100,
      (at) => `<b ${namespaces(20, `_${at}`)}>${"<c/>".repeat(20)}</b>`,
    )}</a>`,
  ],
  ["what must be escaped", `<a b="${"&#9;".repeat(3900)}">${">".repeat(370_000)}</a>`],
  ["carriage returns", `<a>${"\r".repeat(19_900)}${"y".repeat(370_000)}</a>`],
])("a message of %s is parsed and canonicalized without a delay", async (_, xml) => {
  const costs: number[] = []
  for (let count = 0; count < 4; count++) {
    const read = async () => canonicalize(await readMessage(xml, reading), inclusivePrefixes)
    const [text, computedMs] = await measureCpu(read)
    expect(text).not.toBe("")
    costs.push(computedMs)
  }
  expect(Math.min(...costs)).toBeLessThan(computedMax)
})

/** The same for a registered attacker, where the library processes all of it. */
const signedMax = 300

test.each<[string, string]>([
  ["elements", `<a>${"<b/>".repeat(2370)}</a>`],
  ["namespaces", `<a xmlns:p="${"u".repeat(300)}">${'<p:b p:q="1"/>'.repeat(2340)}</a>`],
  ["signs to escape", `<a>${">".repeat(370_000)}</a>`],
])("a signature over the most %s is verified quickly", async (_, inside) => {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const signer = xmlSigner(privateKey, await certificateOf(privateKey))
  const whole = element("saml:Assertion", { ID: "_a" }, { xml: inside })
  const xml = serialize(await signElement(whole, 0, signer))
  const keys = [publicKey.export({ format: "pem", type: "spki" }).toString()]
  const costs: number[] = []
  for (let count = 0; count < 4; count++) {
    const of = await readMessage(xml, reading)
    const signature = findChild(of, ["ds", "Signature"], reading)
    const check = async () => signature && verifySignedElement({ of, signature }, { keys, reading })
    const [found, computedMs] = await measureCpu(check)
    expect(found).toBeDefined()
    costs.push(computedMs)
  }
  expect(Math.min(...costs)).toBeLessThan(signedMax)
})
