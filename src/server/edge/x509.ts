import { lazily } from "../../kernel/lazy.ts"

/** RFC 5480: what every client of the last ten years can check, quickly. */
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const

const loadX509 = lazily(async () => {
  // The library wants it there before itself.
  await import("reflect-metadata")
  return import("@peculiar/x509")
})

/** A pair for a certificate. */
export const createPair = (): Promise<CryptoKeyPair> =>
  crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])

/** The private half, PKCS #8 in PEM. */
export async function keyText({ privateKey }: CryptoKeyPair): Promise<string> {
  const { PemConverter } = await loadX509()
  return PemConverter.encode(await crypto.subtle.exportKey("pkcs8", privateKey), "PRIVATE KEY")
}

/** RFC 2986: what an authority is asked with for a certificate of `host`; DER in base64url. */
export async function requestOf(host: string, keys: CryptoKeyPair): Promise<string> {
  const { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } = await loadX509()
  const made = await Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: algorithm,
    // CA/Browser Forum, Baseline Requirements §7.1.4.2: names stand in the extension alone.
    extensions: [new SubjectAlternativeNameExtension([{ type: "dns", value: host }])],
  })
  return Buffer.from(made.rawData).toString("base64url")
}

type Lifetime = { readonly from: number; readonly to: number }

/** What stands in until there is one that somebody trusts: signed by itself. Times: ms UTC. */
export async function createStandIn(host: string, { from, to }: Lifetime) {
  const { SubjectAlternativeNameExtension, X509CertificateGenerator } = await loadX509()
  const keys = await createPair()
  const made = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: ["Latchkey, without a certificate yet"] }],
    notBefore: new Date(from),
    notAfter: new Date(to),
    signingAlgorithm: algorithm,
    keys,
    extensions: [new SubjectAlternativeNameExtension([{ type: "dns", value: host }])],
  })
  return { cert: made.toString("pem"), key: await keyText(keys) }
}
