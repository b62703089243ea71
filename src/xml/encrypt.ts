import { constants, createCipheriv, createPublicKey, publicEncrypt } from "node:crypto"
import type { Random } from "../kernel/crypto/random.ts"
import { namespaces } from "./names.ts"
import { element, type Written, write } from "./write.ts"

/** RSA-OAEP with MGF1 and SHA-1, of XML Encryption 1.0 §5.4.2. */
export const oaep = `${namespaces.xenc}rsa-oaep-mgf1p`

/** Ciphers of XML Encryption that we speak, best first; GCM is its version 1.1. */
export const ciphers = {
  "http://www.w3.org/2009/xmlenc11#aes256-gcm": ["aes-256-gcm", 32, 12],
  "http://www.w3.org/2009/xmlenc11#aes128-gcm": ["aes-128-gcm", 16, 12],
  "http://www.w3.org/2001/04/xmlenc#aes256-cbc": ["aes-256-cbc", 32, 16],
  "http://www.w3.org/2001/04/xmlenc#aes128-cbc": ["aes-128-cbc", 16, 16],
} as const

type Cipher = keyof typeof ciphers

export const isCipher = (name: string): name is Cipher => Object.hasOwn(ciphers, name)

/** For whom something is encrypted: their key in PEM, and the algorithms that they name. */
export type Recipient = { readonly key: string; readonly methods: readonly string[] }

/**
 * XML Encryption §3: an element for one reader alone. Where their metadata names ciphers, the first
 * of those that we speak is used, else AES-256 in GCM.
 */
export function encrypted(node: Written, { key, methods }: Recipient, random: Random): Written {
  const method = methods.find(isCipher) ?? "http://www.w3.org/2009/xmlenc11#aes256-gcm"
  const [, keyBytes] = ciphers[method]
  const secret = random.bytes(keyBytes)
  const padding = { key: createPublicKey(key), padding: constants.RSA_PKCS1_OAEP_PADDING }
  const wrapped = publicEncrypt({ ...padding, oaepHash: "sha1" }, secret)
  const digest = element("ds:DigestMethod", { Algorithm: `${namespaces.ds}sha1` })
  return element(
    "xenc:EncryptedData",
    { Type: `${namespaces.xenc}Element` },
    element("xenc:EncryptionMethod", { Algorithm: method }),
    element(
      "ds:KeyInfo",
      {},
      element(
        "xenc:EncryptedKey",
        {},
        element("xenc:EncryptionMethod", { Algorithm: oaep }, digest),
        cipherData(wrapped),
      ),
    ),
    cipherData(sealed(method, { secret, text: write(node) }, random)),
  )
}

const cipherData = (bytes: Uint8Array): Written =>
  element(
    "xenc:CipherData",
    {},
    element("xenc:CipherValue", {}, Buffer.from(bytes).toString("base64")),
  )

/** XML Encryption 1.1 §5.2: the nonce first, and after GCM its tag. */
function sealed(
  method: Cipher,
  { secret, text }: { readonly secret: Uint8Array; readonly text: string },
  random: Random,
): Uint8Array {
  const [name, , nonceBytes] = ciphers[method]
  const nonce = random.bytes(nonceBytes)
  if (name === "aes-256-gcm" || name === "aes-128-gcm") {
    const cipher = createCipheriv(name, secret, nonce)
    const body = [cipher.update(text, "utf8"), cipher.final()]
    return Buffer.concat([nonce, ...body, cipher.getAuthTag()])
  }
  // Its padding (§5.2.3) is read as any padding is that ends with its length, as PKCS #7 does.
  const cipher = createCipheriv(name, secret, nonce)
  return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final()])
}
