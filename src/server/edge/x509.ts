import { isIP } from "node:net"
import type { Extension } from "@peculiar/x509"
import type { Random } from "../../kernel/crypto/random.ts"
import { loadOnce } from "../../kernel/lazy.ts"
import { encodeConstraints, nameConstraints } from "./name-constraints.ts"

/** RFC 5480: supported and fast in all current clients. */
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const

const loadX509 = loadOnce(async () => {
  // The library requires this import first.
  await import("reflect-metadata")
  return import("@peculiar/x509")
})

/** A key pair for a certificate. */
export const createPair = (): Promise<CryptoKeyPair> =>
  crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])

/** The private key as PKCS #8 in PEM. */
export async function exportKey({ privateKey }: CryptoKeyPair): Promise<string> {
  const { PemConverter } = await loadX509()
  return PemConverter.encode(await crypto.subtle.exportKey("pkcs8", privateKey), "PRIVATE KEY")
}

/** RFC 2986: a certificate request for `host`; DER in base64url. */
export async function createRequest(host: string, keys: CryptoKeyPair): Promise<string> {
  const { Pkcs10CertificateRequestGenerator } = await loadX509()
  const generated = await Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: algorithm,
    // CA/Browser Forum, Baseline Requirements §7.1.4.2: names are only in the extension.
    extensions: [await createNameExtension(host)],
  })
  return Buffer.from(generated.rawData).toString("base64url")
}

type Validity = { readonly from: number; readonly to: number }

const toDates = ({ from, to }: Validity) => ({ notBefore: new Date(from), notAfter: new Date(to) })

/** RFC 5280 §4.1.2.2: positive, at most 20 bytes, unpredictable. */
const createSerial = (random: Random): string =>
  `01${Buffer.from(random.bytes(15)).toString("hex")}`

/**
 * A self-signed certificate for use until a trusted one is available. Times are in ms since the
 * epoch.
 */
export async function createSelfSigned(host: string, validity: Validity): Promise<CertificatePair> {
  const extensions = [await createNameExtension(host)]
  return createSelfSignedWith("Latchkey temporary certificate", validity, extensions)
}

/** RFC 8737 §3: id-pe-acmeIdentifier. */
const acmeIdentifier = "1.3.6.1.5.5.7.1.31"

/**
 * The validation certificate of RFC 8737 §3: the host name, and the SHA-256 of the key
 * authorization in a critical extension. Times are in ms since the epoch.
 */
export async function createValidation(
  host: string,
  validity: Validity,
  digest: Uint8Array,
): Promise<CertificatePair> {
  const { Extension } = await loadX509()
  // An OCTET STRING of 32 bytes, in DER.
  const value = new Uint8Array([0x04, digest.length, ...digest])
  const extensions = [await createNameExtension(host), new Extension(acmeIdentifier, true, value)]
  return createSelfSignedWith("Latchkey validation", validity, extensions)
}

async function createSelfSignedWith(
  name: string,
  validity: Validity,
  extensions: readonly Extension[],
): Promise<CertificatePair> {
  const { X509CertificateGenerator } = await loadX509()
  const keys = await createPair()
  const generated = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }],
    ...toDates(validity),
    signingAlgorithm: algorithm,
    keys,
    extensions: [...extensions],
  })
  return { cert: generated.toString("pem"), key: await exportKey(keys) }
}

/** RFC 5280 §4.2.1.6; a host is a name or an IP address. */
async function createNameExtension(host: string, isCritical = false) {
  const { SubjectAlternativeNameExtension } = await loadX509()
  const value = withoutBrackets(host)
  return new SubjectAlternativeNameExtension(
    [{ type: isIP(value) === 0 ? "dns" : "ip", value }],
    isCritical,
  )
}

/** An IPv6 address without the brackets of a URL. */
export const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, "")

/** A certificate and its key in PEM. */
export type CertificatePair = { readonly cert: string; readonly key: string }

/**
 * A root that devices trust for one host only, so that its installation affects no other hosts.
 * Times are in ms since the epoch.
 */
export async function createRoot(
  host: string,
  validity: Validity,
  random: Random,
): Promise<CertificatePair> {
  const x509 = await loadX509()
  const keys = await createPair()
  const usages = x509.KeyUsageFlags
  const generated = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: createSerial(random),
    name: [{ CN: [`Latchkey at ${host}`.slice(0, 64)] }],
    ...toDates(validity),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(usages.keyCertSign, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      // RFC 5280 §4.2.1.10: critical, so that clients that don't support it reject the root.
      new x509.Extension(nameConstraints, true, encodeConstraints(withoutBrackets(host))),
    ],
  })
  return { cert: generated.toString("pem"), key: await exportKey(keys) }
}

/** A certificate for the host of a root. Times are in ms since the epoch. */
export async function createLeaf(
  root: CertificatePair,
  { host, random, ...validity }: Validity & { readonly host: string; readonly random: Random },
): Promise<CertificatePair> {
  const x509 = await loadX509()
  const issuer = new x509.X509Certificate(root.cert)
  const keys = await createPair()
  const pkcs8 = x509.PemConverter.decodeFirst(root.key)
  const signingKey = await crypto.subtle.importKey("pkcs8", pkcs8, algorithm, false, ["sign"])
  const generated = await x509.X509CertificateGenerator.create({
    serialNumber: createSerial(random),
    subject: [],
    issuer: issuer.subjectName,
    ...toDates(validity),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      // RFC 5280 §4.2.1.6: critical because the subject is empty.
      await createNameExtension(host, true),
    ],
  })
  return { cert: generated.toString("pem"), key: await exportKey(keys) }
}
