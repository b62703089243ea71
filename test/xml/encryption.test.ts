import {
  constants,
  createCipheriv,
  createPublicKey,
  generateKeyPairSync,
  publicEncrypt,
  randomBytes,
} from "node:crypto"
import { describe, expect, test } from "vitest"
import { decryptElement } from "../../src/xml/decrypt.ts"
import { encryptElement } from "../../src/xml/encrypt.ts"
import { type MessageReading, readMessage, responseSize } from "../../src/xml/read.ts"
import { element, serialize } from "../../src/xml/write.ts"
import { certificateOf } from "../fuzz/engine/saml.ts"

const reading: MessageReading = {
  name: "the message",
  size: responseSize,
  refusedError: (message) => new Error(message),
}
const pairOf = () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey
const [ours, other] = [pairOf(), pairOf()]
const der = (key: typeof ours) => new Uint8Array(key.export({ format: "der", type: "pkcs8" }))

const assertion = element("saml:Assertion", { ID: "_a" }, "Ada Lovelace \u2028 & ä€𝄞")
const text = serialize(assertion)

async function decrypt(xml: string, isGuarded = false): Promise<string | undefined> {
  const of = await readMessage(`<a>${xml}</a>`, reading)
  return decryptElement(of, { keys: [der(ours)], isGuarded, reading })
}

const xenc = "http://www.w3.org/2001/04/xmlenc#"
const xenc11 = "http://www.w3.org/2009/xmlenc11#"
const dsig = "http://www.w3.org/2000/09/xmldsig#"

describe("a text encrypted for one recipient", () => {
  test.each<[string, string[], boolean]>([
    ["by the best cipher", [], false],
    ["by AES-256 in GCM", [`${xenc11}aes256-gcm`], false],
    ["by AES-128 in GCM", [`${xenc}tripledes-cbc`, `${xenc11}aes128-gcm`], false],
    ["by AES-256 in CBC", [`${xenc}aes256-cbc`], true],
    ["by AES-128 in CBC", [`${xenc}aes128-cbc`], true],
  ])("is decrypted %s, by the recipient only", async (_, methods, isGuarded) => {
    const { xml } = await encryptElement(assertion, {
      certificate: await certificateOf(ours),
      methods,
    })
    const used = methods.at(-1) ?? `${xenc11}aes256-gcm`
    expect(xml).toContain(`<xenc:EncryptionMethod Algorithm="${used}"`)
    expect(xml).not.toContain("Lovelace")
    expect(await decrypt(xml, isGuarded)).toBe(text)
    const foreign = await encryptElement(assertion, {
      certificate: await certificateOf(other),
      methods,
    })
    expect(await decrypt(foreign.xml, isGuarded)).toBeUndefined()
  })

  test("accepts a base64 certificate in any metadata format", async () => {
    const certificate = await certificateOf(ours)
    const broken = `${certificate.slice(0, 40)}\n<evil/>${certificate.slice(40)}`
    await expect(encryptElement(assertion, { certificate: broken, methods: [] })).rejects.toThrow()
    const lines = `${certificate.slice(0, 40)}\r\n ${certificate.slice(40)}`
    const { xml } = await encryptElement(assertion, { certificate: lines, methods: [] })
    expect(xml).toContain(`<X509Certificate>${certificate}</X509Certificate>`)
  })
})

type EncryptOptions = {
  readonly cipher?: "aes-256-gcm" | "aes-256-cbc"
  readonly secret?: Buffer
  /** Changes the encrypted bytes. */
  readonly change?: (sealed: Buffer) => Buffer
}

/** Encrypts independently, with node:crypto only. */
function sealedWith({ cipher = "aes-256-gcm", secret = key, change }: EncryptOptions = {}): string {
  const iv = randomBytes(cipher === "aes-256-gcm" ? 12 : 16)
  const parts =
    cipher === "aes-256-gcm"
      ? (() => {
          const sealing = createCipheriv(cipher, secret, iv)
          const body = [sealing.update(text, "utf8"), sealing.final()]
          return [...body, sealing.getAuthTag()]
        })()
      : (() => {
          const sealing = createCipheriv(cipher, secret, iv)
          return [sealing.update(text, "utf8"), sealing.final()]
        })()
  const whole = Buffer.concat([iv, ...parts])
  return (change?.(whole) ?? whole).toString("base64")
}

const key = randomBytes(32)
const data = (value: string) =>
  `<xenc:CipherData><xenc:CipherValue>${value}</xenc:CipherValue></xenc:CipherData>`

const wrappedKey = (method: string, { hash = "sha1", of = ours, secret = key } = {}) =>
  `<xenc:EncryptedKey xmlns:xenc="${xenc}">${method}${data(
    publicEncrypt(
      hash === "none"
        ? { key: createPublicKey(of), padding: constants.RSA_PKCS1_PADDING }
        : {
            key: createPublicKey(of),
            oaepHash: hash,
            padding: constants.RSA_PKCS1_OAEP_PADDING,
          },
      secret,
    ).toString("base64"),
  )}</xenc:EncryptedKey>`

const method = (name: string, inside = "") =>
  `<xenc:EncryptionMethod Algorithm="${name}">${inside}</xenc:EncryptionMethod>`
const digest = (name: string) => `<d:DigestMethod xmlns:d="${dsig}" Algorithm="${name}"/>`
const mask = (name: string) => `<m:MGF xmlns:m="${xenc11}" Algorithm="${xenc11}${name}"/>`
const defaultWrapped = () => wrappedKey(method(`${xenc}rsa-oaep-mgf1p`))

const encryptedData = (keys: string, value = sealedWith(), cipher = `${xenc11}aes256-gcm`) =>
  `<xenc:EncryptedData xmlns:xenc="${xenc}">${method(cipher)}` +
  `<ds:KeyInfo xmlns:ds="${dsig}">${keys}</ds:KeyInfo>${data(value)}</xenc:EncryptedData>`

describe("texts encrypted by others are decrypted", () => {
  test.each<[string, () => string]>([
    ["as most do", () => encryptedData(defaultWrapped())],
    [
      "with SHA-256 in RSA-OAEP",
      () =>
        encryptedData(
          wrappedKey(method(`${xenc11}rsa-oaep`, digest(`${xenc}sha256`) + mask("mgf1sha256")), {
            hash: "sha256",
          }),
        ),
    ],
    [
      "with SHA-1 in the newer RSA-OAEP",
      () => encryptedData(wrappedKey(method(`${xenc11}rsa-oaep`))),
    ],
    [
      "for several readers",
      () =>
        encryptedData(
          wrappedKey(method(`${xenc}rsa-oaep-mgf1p`), { of: other }) + defaultWrapped(),
        ),
    ],
    ["with its key beside it", () => encryptedData("") + defaultWrapped()],
    [
      "with a reference that names everything",
      () =>
        encryptedData(
          `<ds:RetrievalMethod URI="#x' or '1'='1"/><x:EncryptedKey xmlns:x="urn:x">` +
            "<x:CipherData><x:CipherValue>AAAA</x:CipherValue></x:CipherData></x:EncryptedKey>" +
            defaultWrapped(),
        ),
    ],
  ])("%s", async (_, make) => {
    expect(await decrypt(make())).toBe(text)
  })
})

describe("rejects", () => {
  const cbc = `${xenc}aes256-cbc`
  test.each<[string, () => string, boolean?]>([
    [
      "with a key by PKCS #1 v1.5",
      () => encryptedData(wrappedKey(method(`${xenc}rsa-1_5`), { hash: "none" })),
    ],
    [
      "the same, called RSA-OAEP",
      () => encryptedData(wrappedKey(method(`${xenc}rsa-oaep-mgf1p`), { hash: "none" })),
    ],
    [
      "with 3DES",
      () => encryptedData(defaultWrapped(), sealedWith(), `${xenc}tripledes-cbc`),
      true,
    ],
    [
      "with CBC and no signature around it",
      () => encryptedData(defaultWrapped(), sealedWith({ cipher: "aes-256-cbc" }), cbc),
    ],
    ["GCM called CBC", () => encryptedData(defaultWrapped(), sealedWith(), cbc)],
    [
      "without a tag",
      () =>
        encryptedData(defaultWrapped(), sealedWith({ change: (each) => each.subarray(0, -16) })),
    ],
    [
      "with a tag cut short",
      () => encryptedData(defaultWrapped(), sealedWith({ change: (each) => each.subarray(0, -4) })),
    ],
    [
      "of a nonce and four bytes of tag",
      () => encryptedData(defaultWrapped(), randomBytes(16).toString("base64")),
    ],
    ["of nothing", () => encryptedData(defaultWrapped(), "")],
    [
      "that was changed",
      () =>
        encryptedData(
          defaultWrapped(),
          sealedWith({
            change: (each) => {
              each.writeUInt8(each.readUInt8(20) ^ 1, 20)
              return each
            },
          }),
        ),
    ],
    [
      "by CBC whose padding says too much",
      () =>
        encryptedData(
          defaultWrapped(),
          sealedWith({ cipher: "aes-256-cbc", change: (each) => each.subarray(0, -16) }),
          cbc,
        ),
      true,
    ],
    [
      "by a key of another length",
      () =>
        encryptedData(
          wrappedKey(method(`${xenc}rsa-oaep-mgf1p`), { secret: randomBytes(16) }),
          sealedWith(),
        ),
    ],
    [
      "with a digest that the library does not know and would take for SHA-1",
      () => encryptedData(wrappedKey(method(`${xenc}rsa-oaep-mgf1p`, digest(`${xenc}ripemd160`)))),
    ],
    [
      "with a digest by a name that every object has",
      () => encryptedData(wrappedKey(method(`${xenc11}rsa-oaep`, digest("constructor")))),
    ],
    [
      "with a key behind five others",
      () =>
        encryptedData(
          wrappedKey(method(`${xenc}rsa-oaep-mgf1p`), { of: other }).repeat(5) + defaultWrapped(),
        ),
    ],
  ])("%s", async (_, make, isGuarded = false) => {
    expect(await decrypt(make(), isGuarded)).toBeUndefined()
  })
})
