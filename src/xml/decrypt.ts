import { createDecipheriv } from "node:crypto"
import { ciphers, isCipher, oaep } from "./encrypt.ts"
import type { Reading } from "./read.ts"
import { allOf, attributeOf, childOf, childrenOf, type Element, textOf } from "./read.ts"

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
  const [cipher, keyBytes] = ciphers[algorithm]
  if (!cipher.endsWith("gcm") && !isGuarded) return undefined
  const sealed = bytesIn(data, reading)
  for (const wrapped of allOf(of, "xenc", "EncryptedKey").slice(0, keysMax)) {
    for (const key of keys) {
      const secret = await unwrapped(wrapped, key, reading)
      if (secret?.length !== keyBytes) continue
      const plain = opened(algorithm, secret, sealed)
      if (plain !== undefined) return plain
    }
  }
  return undefined
}

/** Digests of RSA-OAEP; PKCS #1 v1.5 is no algorithm of ours (XML Encryption 1.1 §6.1.1). */
const digests: Readonly<Record<string, "SHA-1" | "SHA-256">> = {
  "http://www.w3.org/2000/09/xmldsig#sha1": "SHA-1",
  "http://www.w3.org/2001/04/xmlenc#sha256": "SHA-256",
}

async function unwrapped(
  wrapped: Element,
  key: Uint8Array<ArrayBuffer>,
  reading: Reading,
): Promise<Uint8Array | undefined> {
  const method = childOf(wrapped, ["xenc", "EncryptionMethod"], reading)
  const [digest] = method ? childrenOf(method, "ds", "DigestMethod") : []
  const hash = digests[attributeOf(digest, "Algorithm") ?? "http://www.w3.org/2000/09/xmldsig#sha1"]
  const algorithm = attributeOf(method, "Algorithm")
  const is11 = algorithm === "http://www.w3.org/2009/xmlenc11#rsa-oaep"
  // The older one masks with SHA-1 whatever it digests with, which nothing here can do otherwise.
  if (!hash || (!is11 && !(algorithm === oaep && hash === "SHA-1"))) return undefined
  const spoken = { name: "RSA-OAEP", hash }
  try {
    const imported = await crypto.subtle.importKey("pkcs8", key, spoken, false, ["decrypt"])
    const bytes = Uint8Array.from(bytesIn(wrapped, reading))
    return new Uint8Array(await crypto.subtle.decrypt(spoken, imported, bytes))
  } catch {
    // What was encrypted for somebody else, or by nobody.
    return undefined
  }
}

function opened(
  algorithm: keyof typeof ciphers,
  secret: Uint8Array,
  sealed: Uint8Array,
): string | undefined {
  const [name, , nonceBytes] = ciphers[algorithm]
  const nonce = sealed.subarray(0, nonceBytes)
  try {
    if (name === "aes-256-gcm" || name === "aes-128-gcm") {
      const tag = sealed.subarray(-tagBytes)
      const decipher = createDecipheriv(name, secret, nonce, { authTagLength: tagBytes })
      decipher.setAuthTag(tag)
      const body = decipher.update(sealed.subarray(nonceBytes, -tagBytes))
      return utf8(Buffer.concat([body, decipher.final()]))
    }
    const decipher = createDecipheriv(name, secret, nonce).setAutoPadding(false)
    const padded = Buffer.concat([decipher.update(sealed.subarray(nonceBytes)), decipher.final()])
    // XML Encryption §5.2: the last byte says how many there are too many; the others are anything.
    const padding = padded.at(-1) ?? 0
    return padding >= 1 && padding <= 16 ? utf8(padded.subarray(0, -padding)) : undefined
  } catch {
    return undefined
  }
}

const tagBytes = 16

const utf8 = (bytes: Uint8Array): string => new TextDecoder("utf-8", { fatal: true }).decode(bytes)

/** The octets of a CipherData; they may not lie anywhere else (no CipherReference). */
function bytesIn(of: Element, reading: Reading): Buffer {
  const data = childOf(of, ["xenc", "CipherData"], reading)
  const value = data && childOf(data, ["xenc", "CipherValue"], reading)
  return Buffer.from(textOf(value, reading).replaceAll(/\s/g, ""), "base64")
}
