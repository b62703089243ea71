import { createPrivateKey, type KeyObject } from "node:crypto"
import { isCipher, loadEncryption, oaep } from "./encrypt.ts"
import { namespaces } from "./names.ts"
import {
  allOf,
  attributeOf,
  childOf,
  childrenOf,
  type Element,
  type Reading,
  readMessage,
  textOf,
} from "./read.ts"
import { element, type Written, write } from "./write.ts"

/** Keys that a sender may have encrypted for: the same for each reader of theirs. */
const keysMax = 5

/** Private halves, PKCS #8 in DER, newest first; and whether what was changed would be noticed. */
export type Decrypting = {
  readonly keys: readonly Uint8Array<ArrayBuffer>[]
  /**
   * Whether a signature around it has been checked. Without one only GCM is read: of CBC, whoever
   * may try often enough learns the text by what is refused (Jager and Somorovsky, 2011).
   */
  readonly isGuarded: boolean
  readonly reading: Reading
}

/**
 * XML Encryption §4.2: the text of an element that stands encrypted in `of`. Undefined where none
 * of the keys opens it, or by no algorithm of ours; why is all the same to whoever sent it.
 */
export async function decrypted(of: Element, decrypting: Decrypting): Promise<string | undefined> {
  const { keys, isGuarded, reading } = decrypting
  const data = childOf(of, ["xenc", "EncryptedData"], reading)
  const method = data && childOf(data, ["xenc", "EncryptionMethod"], reading)
  const algorithm = attributeOf(method, "Algorithm") ?? ""
  if (!data || !isCipher(algorithm)) return undefined
  const isGcm = algorithm.endsWith("gcm")
  if (!isGcm && !isGuarded) return undefined
  const sealed = bytesIn(data, reading)
  // The library takes what is there for the tag, however short.
  if (isGcm && sealed.length < nonceBytes + tagBytes) return undefined
  const known = keys.map((each) =>
    createPrivateKey({ key: Buffer.from(each), format: "der", type: "pkcs8" }),
  )
  for (const wrapped of allOf(of, "xenc", "EncryptedKey").slice(0, keysMax)) {
    const wrapping = wrappingOf(wrapped, reading)
    if (!wrapping) continue
    const document = write(encryptedData(algorithm, { wrapping, sealed }))
    const root = await readMessage(document, { ...reading, size: { most: 1_000_000, bounds: [] } })
    for (const key of known) {
      const plain = await opened(root, key)
      if (plain !== undefined) return plain
    }
  }
  return undefined
}

const nonceBytes = 12
const tagBytes = 16

/** A key that was encrypted for somebody, and how. */
type Wrapping = {
  readonly method: Written
  readonly bytes: Uint8Array
}

/**
 * Digests of RSA-OAEP, and the masks that go with them; PKCS #1 v1.5 is no algorithm of ours
 * (XML Encryption 1.1 §6.1.1).
 */
const masks: ReadonlyMap<string, string> = new Map([
  [`${namespaces.ds}sha1`, `${namespaces.xenc11}mgf1sha1`],
  [`${namespaces.xenc}sha256`, `${namespaces.xenc11}mgf1sha256`],
])

/** Undefined for algorithms other than ours: the library would read PKCS #1 v1.5, too. */
function wrappingOf(wrapped: Element, reading: Reading): Wrapping | undefined {
  const method = childOf(wrapped, ["xenc", "EncryptionMethod"], reading)
  const [digest] = method ? childrenOf(method, "ds", "DigestMethod") : []
  const hash = attributeOf(digest, "Algorithm") ?? `${namespaces.ds}sha1`
  const algorithm = attributeOf(method, "Algorithm")
  const mask = masks.get(hash)
  const is11 = algorithm === `${namespaces.xenc11}rsa-oaep`
  // The older one masks with SHA-1 whatever it digests with. Where both differ, the library takes
  // the padding off in JavaScript, whose time depends on it (Manger, 2001).
  if (!mask || (!is11 && !(algorithm === oaep && hash === `${namespaces.ds}sha1`))) return undefined
  return {
    method: element(
      "xenc:EncryptionMethod",
      { Algorithm: algorithm },
      element("ds:DigestMethod", { Algorithm: hash }),
      is11 ? element("xenc11:MGF", { Algorithm: mask }) : undefined,
    ),
    bytes: bytesIn(wrapped, reading),
  }
}

/** One key and one text, so that the library has nothing to choose from. */
const encryptedData = (
  algorithm: string,
  { wrapping, sealed }: { readonly wrapping: Wrapping; readonly sealed: Uint8Array },
): Written =>
  element(
    "xenc:EncryptedData",
    {},
    element("xenc:EncryptionMethod", { Algorithm: algorithm }),
    element(
      "ds:KeyInfo",
      {},
      element("xenc:EncryptedKey", {}, wrapping.method, cipherData(wrapping.bytes)),
    ),
    cipherData(sealed),
  )

const cipherData = (bytes: Uint8Array): Written =>
  element(
    "xenc:CipherData",
    {},
    element("xenc:CipherValue", {}, Buffer.from(bytes).toString("base64")),
  )

/** Undefined for what was encrypted for somebody else, or was changed. */
async function opened(root: Element, key: KeyObject): Promise<string | undefined> {
  const { decrypt } = await loadEncryption()
  const options = {
    key,
    // Which algorithms are read has been decided before.
    disallowDecryptionWithInsecureAlgorithm: false,
    warnInsecureAlgorithm: false,
  }
  return new Promise((resolve) => {
    decrypt(root, options, (error, text) => resolve(error ? undefined : text))
  })
}

/** The octets of a CipherData; they may not lie anywhere else (no CipherReference). */
function bytesIn(of: Element, reading: Reading): Buffer {
  const data = childOf(of, ["xenc", "CipherData"], reading)
  const value = data && childOf(data, ["xenc", "CipherValue"], reading)
  return Buffer.from(textOf(value, reading).replaceAll(/\s/g, ""), "base64")
}
