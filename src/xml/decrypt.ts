import { createPrivateKey, type KeyObject } from "node:crypto"
import { isCipher, loadEncryption, oaep } from "./encrypt.ts"
import { namespaces } from "./names.ts"
import {
  childrenOf,
  type Element,
  findAll,
  findAttribute,
  findChild,
  type MessageReading,
  readMessage,
  requireText,
} from "./read.ts"
import { element, serialize, type XmlNode } from "./write.ts"

/** Maximum number of encrypted keys: senders encrypt one for each key of the recipient. */
const maxKeys = 5

/** Private keys, PKCS #8 in DER, newest first, and whether tampering would be detected. */
export type DecryptionOptions = {
  readonly keys: readonly Uint8Array<ArrayBuffer>[]
  /**
   * Whether a signature around it was verified. Without one, only GCM is accepted: with CBC, an
   * attacker can learn the text from repeated rejections (Jager and Somorovsky, 2011).
   */
  readonly isGuarded: boolean
  readonly reading: MessageReading
}

/**
 * XML Encryption §4.2: the text of the encrypted element in `of`. Undefined if no key decrypts it,
 * or its algorithms are not supported; the sender doesn't learn which.
 */
export async function decryptElement(
  of: Element,
  decrypting: DecryptionOptions,
): Promise<string | undefined> {
  const { keys, isGuarded, reading } = decrypting
  const data = findChild(of, ["xenc", "EncryptedData"], reading)
  const method = data && findChild(data, ["xenc", "EncryptionMethod"], reading)
  const algorithm = findAttribute(method, "Algorithm") ?? ""
  if (!data || !isCipher(algorithm)) return undefined
  const isGcm = algorithm.endsWith("gcm")
  if (!isGcm && !isGuarded) return undefined
  const sealed = readCipherValue(data, reading)
  // The library accepts a truncated tag.
  if (isGcm && sealed.length < nonceBytes + tagBytes) return undefined
  const privateKeys = keys.map((each) =>
    createPrivateKey({ key: Buffer.from(each), format: "der", type: "pkcs8" }),
  )
  for (const wrapped of findAll(of, "xenc", "EncryptedKey").slice(0, maxKeys)) {
    const wrapping = parseWrappedKey(wrapped, reading)
    if (!wrapping) continue
    const document = serialize(createEncryptedData(algorithm, { wrapping, sealed }))
    const root = await readMessage(document, {
      ...reading,
      size: { maxLength: 1_000_000, bounds: [] },
    })
    for (const key of privateKeys) {
      const plain = await decryptWithKey(root, key)
      if (plain !== undefined) return plain
    }
  }
  return undefined
}

const nonceBytes = 12
const tagBytes = 16

/** An encrypted key with its algorithm. */
type WrappedKey = {
  readonly method: XmlNode
  readonly bytes: Uint8Array
}

/**
 * RSA-OAEP digests with their mask generation functions; PKCS #1 v1.5 is not supported (XML
 * Encryption 1.1 §6.1.1).
 */
const masks: ReadonlyMap<string, string> = new Map([
  [`${namespaces.ds}sha1`, `${namespaces.xenc11}mgf1sha1`],
  [`${namespaces.xenc}sha256`, `${namespaces.xenc11}mgf1sha256`],
])

/** Undefined for unsupported algorithms: the library would also accept PKCS #1 v1.5. */
function parseWrappedKey(wrapped: Element, reading: MessageReading): WrappedKey | undefined {
  const method = findChild(wrapped, ["xenc", "EncryptionMethod"], reading)
  const [digest] = method ? childrenOf(method, "ds", "DigestMethod") : []
  const hash = findAttribute(digest, "Algorithm") ?? `${namespaces.ds}sha1`
  const algorithm = findAttribute(method, "Algorithm")
  const mask = masks.get(hash)
  const is11 = algorithm === `${namespaces.xenc11}rsa-oaep`
  // The older algorithm always uses SHA-1 for the mask. If the digest differs, the library removes
  // the padding in JavaScript, in data-dependent time (Manger, 2001).
  if (!mask || (!is11 && !(algorithm === oaep && hash === `${namespaces.ds}sha1`))) return undefined
  return {
    method: element(
      "xenc:EncryptionMethod",
      { Algorithm: algorithm },
      element("ds:DigestMethod", { Algorithm: hash }),
      is11 ? element("xenc11:MGF", { Algorithm: mask }) : undefined,
    ),
    bytes: readCipherValue(wrapped, reading),
  }
}

/** With one key and one text, so that the library has nothing to choose from. */
const createEncryptedData = (
  algorithm: string,
  { wrapping, sealed }: { readonly wrapping: WrappedKey; readonly sealed: Uint8Array },
): XmlNode =>
  element(
    "xenc:EncryptedData",
    {},
    element("xenc:EncryptionMethod", { Algorithm: algorithm }),
    element(
      "ds:KeyInfo",
      {},
      element("xenc:EncryptedKey", {}, wrapping.method, createCipherData(wrapping.bytes)),
    ),
    createCipherData(sealed),
  )

const createCipherData = (bytes: Uint8Array): XmlNode =>
  element(
    "xenc:CipherData",
    {},
    element("xenc:CipherValue", {}, Buffer.from(bytes).toString("base64")),
  )

/** Undefined if it was encrypted for another recipient, or was changed. */
async function decryptWithKey(root: Element, key: KeyObject): Promise<string | undefined> {
  const { decrypt } = await loadEncryption()
  const options = {
    key,
    // The supported algorithms were checked before.
    disallowDecryptionWithInsecureAlgorithm: false,
    warnInsecureAlgorithm: false,
  }
  return new Promise((resolve) => {
    decrypt(root, options, (error, text) => resolve(error ? undefined : text))
  })
}

/** The octets of a CipherData; references (CipherReference) are not supported. */
function readCipherValue(of: Element, reading: MessageReading): Buffer {
  const data = findChild(of, ["xenc", "CipherData"], reading)
  const value = data && findChild(data, ["xenc", "CipherValue"], reading)
  return Buffer.from(requireText(value, reading).replaceAll(/\s/g, ""), "base64")
}
