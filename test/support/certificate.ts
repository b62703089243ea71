import { writeFileSync } from "node:fs"
import "reflect-metadata"
import {
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509"

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const

/** Writes a self-signed certificate for some hosts and its key to files, valid for `days`. */
export async function writeCertificate(
  base: string,
  names: readonly string[],
  days = 90,
): Promise<{ readonly certFile: string; readonly keyFile: string }> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
  const now = Date.now()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${names[0]}`,
    notBefore: new Date(now - 86_400_000),
    notAfter: new Date(now + days * 86_400_000),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new SubjectAlternativeNameExtension(names.map((value) => ({ type: "dns" as const, value }))),
    ],
  })
  const secret = await crypto.subtle.exportKey("pkcs8", keys.privateKey)
  const [certFile, keyFile] = [`${base}.crt`, `${base}.key`]
  writeFileSync(certFile, certificate.toString("pem"))
  writeFileSync(keyFile, PemConverter.encode(secret, "PRIVATE KEY"), { mode: 0o600 })
  return { certFile, keyFile }
}
