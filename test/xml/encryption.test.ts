import {
  constants,
  createCipheriv,
  createPublicKey,
  generateKeyPairSync,
  publicEncrypt,
  randomBytes,
} from "node:crypto"
import { describe, expect, test } from "vitest"
import { decrypted } from "../../src/xml/decrypt.ts"
import { encrypted } from "../../src/xml/encrypt.ts"
import { type Reading, readMessage, responseSize } from "../../src/xml/read.ts"
import { element, write } from "../../src/xml/write.ts"
import { certificateOf } from "../fuzz/engine/saml.ts"

const reading: Reading = {
  name: "the message",
  size: responseSize,
  refusedError: (message) => new Error(message),
}
const pairOf = () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey
const [ours, other] = [pairOf(), pairOf()]
const der = (key: typeof ours) => new Uint8Array(key.export({ format: "der", type: "pkcs8" }))

const assertion = element("saml:Assertion", { ID: "_a" }, "Ada Lovelace \u2028 & ä€𝄞")
const text = write(assertion)

async function opened(xml: string, isGuarded = false): Promise<string | undefined> {
  const of = await readMessage(`<a>${xml}</a>`, reading)
  return decrypted(of, { keys: [der(ours)], isGuarded, reading })
}

const xenc = "http://www.w3.org/2001/04/xmlenc#"
const xenc11 = "http://www.w3.org/2009/xmlenc11#"
const dsig = "http://www.w3.org/2000/09/xmldsig#"

describe("what is encrypted for one reader", () => {
  test.each<[string, string[], boolean]>([
    ["by the best cipher", [], false],
    ["by AES-256 in GCM", [`${xenc11}aes256-gcm`], false],
    ["by AES-128 in GCM", [`${xenc}tripledes-cbc`, `${xenc11}aes128-gcm`], false],
    ["by AES-256 in CBC", [`${xenc}aes256-cbc`], true],
    ["by AES-128 in CBC", [`${xenc}aes128-cbc`], true],
  ])("is read %s, by that one alone", async (_, methods, isGuarded) => {
    const { xml } = await encrypted(assertion, { certificate: await certificateOf(ours), methods })
    const used = methods.at(-1) ?? `${xenc11}aes256-gcm`
    expect(xml).toContain(`<xenc:EncryptionMethod Algorithm="${used}"`)
    expect(xml).not.toContain("Lovelace")
    expect(await opened(xml, isGuarded)).toBe(text)
    const foreign = await encrypted(assertion, {
      certificate: await certificateOf(other),
      methods,
    })
    expect(await opened(foreign.xml, isGuarded)).toBeUndefined()
  })

  test("has a certificate as base64, whatever its metadata has around it", async () => {
    const certificate = await certificateOf(ours)
    const broken = `${certificate.slice(0, 40)}\n<evil/>${certificate.slice(40)}`
    await expect(encrypted(assertion, { certificate: broken, methods: [] })).rejects.toThrow()
    const lines = `${certificate.slice(0, 40)}\r\n ${certificate.slice(40)}`
    const { xml } = await encrypted(assertion, { certificate: lines, methods: [] })
    expect(xml).toContain(`<X509Certificate>${certificate}</X509Certificate>`)
  })
})

type Sealing = {
  readonly cipher?: "aes-256-gcm" | "aes-256-cbc"
  readonly secret?: Buffer
  /** What is done to what was sealed. */
  readonly change?: (sealed: Buffer) => Buffer
}

/** Seals as others do, by node:crypto alone. */
function sealedWith({ cipher = "aes-256-gcm", secret = key, change }: Sealing = {}): string {
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

const wrapped = (method: string, { hash = "sha1", of = ours, secret = key } = {}) =>
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
const usual = () => wrapped(method(`${xenc}rsa-oaep-mgf1p`))

const whole = (keys: string, value = sealedWith(), cipher = `${xenc11}aes256-gcm`) =>
  `<xenc:EncryptedData xmlns:xenc="${xenc}">${method(cipher)}` +
  `<ds:KeyInfo xmlns:ds="${dsig}">${keys}</ds:KeyInfo>${data(value)}</xenc:EncryptedData>`

describe("what others have encrypted is read", () => {
  test.each<[string, () => string]>([
    ["as most do", () => whole(usual())],
    [
      "with SHA-256 in RSA-OAEP",
      () =>
        whole(
          wrapped(method(`${xenc11}rsa-oaep`, digest(`${xenc}sha256`) + mask("mgf1sha256")), {
            hash: "sha256",
          }),
        ),
    ],
    ["with SHA-1 in the newer RSA-OAEP", () => whole(wrapped(method(`${xenc11}rsa-oaep`)))],
    [
      "for several readers",
      () => whole(wrapped(method(`${xenc}rsa-oaep-mgf1p`), { of: other }) + usual()),
    ],
    ["with its key beside it", () => whole("") + usual()],
    [
      "with a reference that names everything",
      () =>
        whole(
          `<ds:RetrievalMethod URI="#x' or '1'='1"/><x:EncryptedKey xmlns:x="urn:x">` +
            "<x:CipherData><x:CipherValue>AAAA</x:CipherValue></x:CipherData></x:EncryptedKey>" +
            usual(),
        ),
    ],
  ])("%s", async (_, make) => {
    expect(await opened(make())).toBe(text)
  })
})

describe("is not read", () => {
  const cbc = `${xenc}aes256-cbc`
  test.each<[string, () => string, boolean?]>([
    [
      "with a key by PKCS #1 v1.5",
      () => whole(wrapped(method(`${xenc}rsa-1_5`), { hash: "none" })),
    ],
    [
      "the same, called RSA-OAEP",
      () => whole(wrapped(method(`${xenc}rsa-oaep-mgf1p`), { hash: "none" })),
    ],
    ["with 3DES", () => whole(usual(), sealedWith(), `${xenc}tripledes-cbc`), true],
    [
      "with CBC and no signature around it",
      () => whole(usual(), sealedWith({ cipher: "aes-256-cbc" }), cbc),
    ],
    ["GCM called CBC", () => whole(usual(), sealedWith(), cbc)],
    [
      "without a tag",
      () => whole(usual(), sealedWith({ change: (each) => each.subarray(0, -16) })),
    ],
    [
      "with a tag cut short",
      () => whole(usual(), sealedWith({ change: (each) => each.subarray(0, -4) })),
    ],
    ["of a nonce and four bytes of tag", () => whole(usual(), randomBytes(16).toString("base64"))],
    ["of nothing", () => whole(usual(), "")],
    [
      "that was changed",
      () =>
        whole(
          usual(),
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
        whole(
          usual(),
          sealedWith({ cipher: "aes-256-cbc", change: (each) => each.subarray(0, -16) }),
          cbc,
        ),
      true,
    ],
    [
      "by a key of another length",
      () =>
        whole(wrapped(method(`${xenc}rsa-oaep-mgf1p`), { secret: randomBytes(16) }), sealedWith()),
    ],
    [
      "with a digest that the library does not know and would take for SHA-1",
      () => whole(wrapped(method(`${xenc}rsa-oaep-mgf1p`, digest(`${xenc}ripemd160`)))),
    ],
    [
      "with a digest by a name that every object has",
      () => whole(wrapped(method(`${xenc11}rsa-oaep`, digest("constructor")))),
    ],
    [
      "with a key behind five others",
      () => whole(wrapped(method(`${xenc}rsa-oaep-mgf1p`), { of: other }).repeat(5) + usual()),
    ],
  ])("%s", async (_, make, isGuarded = false) => {
    expect(await opened(make(), isGuarded)).toBeUndefined()
  })
})
