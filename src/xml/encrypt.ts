import { X509Certificate } from "node:crypto"
import { lazily } from "../kernel/lazy.ts"
import { namespaces } from "./names.ts"
import { type Raw, type Written, write } from "./write.ts"

/** RSA-OAEP with MGF1 and SHA-1, of XML Encryption 1.0 §5.4.2. */
export const oaep = `${namespaces.xenc}rsa-oaep-mgf1p` as const

/** Ciphers of XML Encryption that we speak, best first; GCM is its version 1.1. */
const ciphers = [
  "http://www.w3.org/2009/xmlenc11#aes256-gcm",
  "http://www.w3.org/2009/xmlenc11#aes128-gcm",
  "http://www.w3.org/2001/04/xmlenc#aes256-cbc",
  "http://www.w3.org/2001/04/xmlenc#aes128-cbc",
] as const

export const isCipher = (name: string): name is (typeof ciphers)[number] =>
  ciphers.some((each) => each === name)

/** The library for XML Encryption; loaded with the first encrypted assertion. */
export const loadEncryption = lazily(() => import("xml-encryption"))

/**
 * For whom something is encrypted: their certificate, DER in base64, whose key is RSA; and the
 * algorithms that they name.
 */
export type Recipient = { readonly certificate: string; readonly methods: readonly string[] }

/**
 * XML Encryption §3: an element for one reader alone. Where their metadata names ciphers, the first
 * of those that we speak is used, else AES-256 in GCM.
 */
export async function encrypted(node: Written, recipient: Recipient): Promise<Raw> {
  const { encrypt } = await loadEncryption()
  const { publicKey, raw } = new X509Certificate(Buffer.from(recipient.certificate, "base64"))
  const options = {
    rsa_pub: publicKey.export({ format: "pem", type: "spki" }).toString(),
    // The library writes it into the XML as it is.
    pem: `-----BEGIN CERTIFICATE-----${raw.toString("base64")}-----END CERTIFICATE-----`,
    encryptionAlgorithm: recipient.methods.find(isCipher) ?? ciphers[0],
    keyEncryptionAlgorithm: oaep,
    // It takes CBC for one; those whose metadata names nothing else read nothing else.
    disallowEncryptionWithInsecureAlgorithm: false,
    warnInsecureAlgorithm: false,
  }
  return new Promise((resolve, reject) => {
    encrypt(write(node), options, (error, xml) => {
      if (error) reject(error)
      else resolve({ xml: xml.trim() })
    })
  })
}
