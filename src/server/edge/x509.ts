import { isIP } from "node:net"
import type { Extension } from "@peculiar/x509"
import type { Random } from "../../kernel/crypto/random.ts"
import { lazily } from "../../kernel/lazy.ts"
import { constraintsFor, nameConstraints } from "./name-constraints.ts"

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
  const { Pkcs10CertificateRequestGenerator } = await loadX509()
  const made = await Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: algorithm,
    // CA/Browser Forum, Baseline Requirements §7.1.4.2: names stand in the extension alone.
    extensions: [await nameOf(host)],
  })
  return Buffer.from(made.rawData).toString("base64url")
}

type Lifetime = { readonly from: number; readonly to: number }

const within = ({ from, to }: Lifetime) => ({ notBefore: new Date(from), notAfter: new Date(to) })

/** RFC 5280 §4.1.2.2: positive, of at most 20 bytes, and nobody's guess. */
const serialOf = (random: Random): string => `01${Buffer.from(random.bytes(15)).toString("hex")}`

/** What stands in until there is one that somebody trusts: signed by itself. Times: ms UTC. */
export async function createStandIn(host: string, life: Lifetime): Promise<Pair> {
  const extensions = [await nameOf(host)]
  return selfSigned("Latchkey, without a certificate yet", life, extensions)
}

/** RFC 8737 §3: id-pe-acmeIdentifier. */
const acmeIdentifier = "1.3.6.1.5.5.7.1.31"

/**
 * What an authority is shown that validates a host (RFC 8737 §3): this one name, and the SHA-256 of
 * the key authorization, in an extension that is critical. Times: ms UTC.
 */
export async function createValidation(
  host: string,
  life: Lifetime,
  digest: Uint8Array,
): Promise<Pair> {
  const { Extension } = await loadX509()
  // An OCTET STRING of 32 bytes, in DER.
  const value = new Uint8Array([0x04, digest.length, ...digest])
  const extensions = [await nameOf(host), new Extension(acmeIdentifier, true, value)]
  return selfSigned("Latchkey, to an authority", life, extensions)
}

async function selfSigned(
  name: string,
  life: Lifetime,
  extensions: readonly Extension[],
): Promise<Pair> {
  const { X509CertificateGenerator } = await loadX509()
  const keys = await createPair()
  const made = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }],
    ...within(life),
    signingAlgorithm: algorithm,
    keys,
    extensions: [...extensions],
  })
  return { cert: made.toString("pem"), key: await keyText(keys) }
}

/** RFC 5280 §4.2.1.6; a host is a name or an address. */
async function nameOf(host: string, isCritical = false) {
  const { SubjectAlternativeNameExtension } = await loadX509()
  const value = bareHost(host)
  return new SubjectAlternativeNameExtension(
    [{ type: isIP(value) === 0 ? "dns" : "ip", value }],
    isCritical,
  )
}

/** An address of IPv6 without the brackets that it has in a URL. */
export const bareHost = (host: string): string => host.replace(/^\[|\]$/g, "")

/** A certificate and its key in PEM. */
export type Pair = { readonly cert: string; readonly key: string }

/**
 * What devices are told to trust, for this one host: it can sign for no other, so whoever installs
 * it need not trust us with more than that. Times: ms UTC.
 */
export async function createRoot(host: string, life: Lifetime, random: Random): Promise<Pair> {
  const x509 = await loadX509()
  const keys = await createPair()
  const usages = x509.KeyUsageFlags
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialOf(random),
    name: [{ CN: [`Latchkey at ${host}`.slice(0, 64)] }],
    ...within(life),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(usages.keyCertSign, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      // RFC 5280 §4.2.1.10: critical, so that who can't read it trusts nothing of it.
      new x509.Extension(nameConstraints, true, constraintsFor(bareHost(host))),
    ],
  })
  return { cert: made.toString("pem"), key: await keyText(keys) }
}

/** A certificate of the host that a root is for. Times: ms UTC. */
export async function createLeaf(
  root: Pair,
  { host, random, ...life }: Lifetime & { readonly host: string; readonly random: Random },
): Promise<Pair> {
  const x509 = await loadX509()
  const issuer = new x509.X509Certificate(root.cert)
  const keys = await createPair()
  const pkcs8 = x509.PemConverter.decodeFirst(root.key)
  const signingKey = await crypto.subtle.importKey("pkcs8", pkcs8, algorithm, false, ["sign"])
  const made = await x509.X509CertificateGenerator.create({
    serialNumber: serialOf(random),
    subject: [],
    issuer: issuer.subjectName,
    ...within(life),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      // RFC 5280 §4.2.1.6: critical, as the subject is empty.
      await nameOf(host, true),
    ],
  })
  return { cert: made.toString("pem"), key: await keyText(keys) }
}
