import { createPublicKey, type KeyObject, sign } from "node:crypto"
import type { XmlSigner } from "../../../src/xml/sign.ts"

/** Signs with a key that is equal in every run. */
export const xmlSigner = (key: KeyObject, certificate: string): XmlSigner => ({
  certificate,
  hash: "sha256",
  sign: async (bytes) => sign("sha256", bytes, key),
})

/** The base64 certificate of a key; equal in every run. */
export async function certificateOf(key: KeyObject): Promise<string> {
  await import("reflect-metadata")
  const { X509CertificateGenerator } = await import("@peculiar/x509")
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }
  const { subtle } = crypto
  const imported = async (half: KeyObject, uses: "sign" | "verify") =>
    subtle.importKey("jwk", half.export({ format: "jwk" }), algorithm, true, [uses])
  const keys = {
    privateKey: await imported(key, "sign"),
    publicKey: await imported(createPublicKey(key), "verify"),
  }
  const made = await X509CertificateGenerator.createSelfSigned({
    serialNumber: "01",
    name: [{ CN: ["fuzz"] }],
    signingAlgorithm: algorithm,
    keys,
    notBefore: new Date(Date.UTC(2026, 0)),
    notAfter: new Date(Date.UTC(2036, 0)),
  })
  return Buffer.from(made.rawData).toString("base64")
}
