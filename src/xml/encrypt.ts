import { X509Certificate } from "node:crypto"
import { loadOnce } from "../kernel/lazy.ts"
import { namespaces } from "./names.ts"
import { type RawXml, serialize, type XmlNode } from "./write.ts"

/** RSA-OAEP with MGF1 and SHA-1, from XML Encryption 1.0 §5.4.2. */
export const oaep = `${namespaces.xenc}rsa-oaep-mgf1p` as const

/** The supported ciphers of XML Encryption, best first; GCM is from version 1.1. */
const ciphers = [
  "http://www.w3.org/2009/xmlenc11#aes256-gcm",
  "http://www.w3.org/2009/xmlenc11#aes128-gcm",
  "http://www.w3.org/2001/04/xmlenc#aes256-cbc",
  "http://www.w3.org/2001/04/xmlenc#aes128-cbc",
] as const

export const isCipher = (name: string): name is (typeof ciphers)[number] =>
  ciphers.some((each) => each === name)

/** The XML Encryption library, loaded with the first encrypted assertion. */
export const loadEncryption = loadOnce(() => import("xml-encryption"))

/**
 * The recipient's certificate with an RSA key, DER in base64, and the algorithms in its metadata.
 */
export type Recipient = { readonly certificate: string; readonly methods: readonly string[] }

/**
 * XML Encryption §3: encrypts an element for one recipient. Uses the first supported cipher in its
 * metadata, otherwise AES-256-GCM.
 */
export async function encryptElement(node: XmlNode, recipient: Recipient): Promise<RawXml> {
  const { encrypt } = await loadEncryption()
  const { publicKey, raw } = new X509Certificate(Buffer.from(recipient.certificate, "base64"))
  const options = {
    rsa_pub: publicKey.export({ format: "pem", type: "spki" }).toString(),
    // The library inserts it into the XML unchanged.
    pem: `-----BEGIN CERTIFICATE-----${raw.toString("base64")}-----END CERTIFICATE-----`,
    encryptionAlgorithm: recipient.methods.find(isCipher) ?? ciphers[0],
    keyEncryptionAlgorithm: oaep,
    // CBC counts as insecure, but some recipients support nothing else.
    disallowEncryptionWithInsecureAlgorithm: false,
    warnInsecureAlgorithm: false,
  }
  return new Promise((resolve, reject) => {
    encrypt(serialize(node), options, (error, xml) => {
      if (error) reject(error)
      else resolve({ xml: xml.trim() })
    })
  })
}
