import type { Random } from "../../../kernel/crypto/random.ts"
import { loadOnce } from "../../../kernel/lazy.ts"
import type { Hash } from "../../../xml/names.ts"

/** A key pair with a self-signed certificate, which is trusted where it is registered. */
export type CertifiedPair = {
  /** DER in base64, without line breaks. */
  readonly certificate: string
  /** PKCS #8 in base64. */
  readonly privateKey: string
}

const algorithm = {
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
}

const loadX509 = loadOnce(async () => {
  // The library requires this import before its own.
  await import("reflect-metadata")
  return import("@peculiar/x509")
})

/**
 * Generates an RSA key pair with a self-signed certificate, off the event loop. Times are ms UTC.
 */
export async function createCertifiedPair(
  random: Random,
  { name, from, to }: { readonly name: string; readonly from: number; readonly to: number },
): Promise<CertifiedPair> {
  const { X509CertificateGenerator } = await loadX509()
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
  const made = await X509CertificateGenerator.createSelfSigned({
    // RFC 5280 §4.1.2.2: positive, and at most 20 bytes.
    serialNumber: `01${Buffer.from(random.bytes(15)).toString("hex")}`,
    name: [{ CN: [name] }],
    notBefore: new Date(from),
    notAfter: new Date(to),
    signingAlgorithm: algorithm,
    keys,
  })
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", keys.privateKey)
  return {
    certificate: Buffer.from(made.rawData).toString("base64"),
    privateKey: Buffer.from(pkcs8).toString("base64"),
  }
}

const hashNames: Readonly<Record<Hash, string>> = { sha256: "SHA-256", sha512: "SHA-512" }

/** Imports the private key, to sign with off the event loop. */
export const importPrivateKey = (base64: string, hash: Hash = "sha256"): Promise<CryptoKey> => {
  const algorithmParameters = { name: algorithm.name, hash: hashNames[hash] }
  return crypto.subtle.importKey(
    "pkcs8",
    Buffer.from(base64, "base64"),
    algorithmParameters,
    false,
    ["sign"],
  )
}
