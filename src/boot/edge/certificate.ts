import { createPrivateKey, X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { createSecureContext } from "node:tls"
import type { Config } from "../../kernel/config.ts"
import { startError, systemCode } from "../start-error.ts"

/** A certificate with its chain, and its key, as PEM. */
export type Certificate = {
  readonly cert: string
  readonly key: string
  /** The host names of the certificate; "*.example.com" for subdomains. */
  readonly names: readonly string[]
  /** When the certificate expires, in ms since the epoch. */
  readonly expiresAt: number
}

/**
 * The certificates of the configuration; the first is used for clients that send no host name.
 * Throws if files can't be read or don't match.
 */
export const readCertificates = ({ tlsCert, tlsKey }: Pick<Config, "tlsCert" | "tlsKey">) =>
  tlsCert.map((file, at) => readCertificate(file, tlsKey[at] ?? ""))

const readCertificate = (certFile: string, keyFile: string): Certificate =>
  parseCertificate({ cert: textOf(certFile), key: textOf(keyFile) }, certFile, keyFile)

/**
 * A certificate and key in PEM with the names and expiry of the certificate. Throws, naming the
 * files, if they don't match.
 */
export function parseCertificate(
  { cert, key }: Pick<Certificate, "cert" | "key">,
  certFile: string,
  keyFile: string,
): Certificate {
  const parsed = parsePem(certFile, "certificate", () => new X509Certificate(cert))
  const secret = parsePem(keyFile, "private key without a passphrase", () => createPrivateKey(key))
  if (!parsed.checkPrivateKey(secret)) {
    throw tlsError(`the key in ${keyFile} does not match the first certificate in ${certFile}`)
  }
  // Parses the whole file: a partly written file can contain a complete first certificate.
  parsePem(certFile, "chain of certificates that TLS can use", () =>
    createSecureContext({ cert, key }),
  )
  const names = (parsed.subjectAltName ?? "")
    .split(", ")
    .flatMap((each) => (each.startsWith("DNS:") ? each.slice("DNS:".length).toLowerCase() : []))
  return { cert, key, names, expiresAt: Date.parse(parsed.validTo) }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    throw tlsError(`${file} can't be read (${systemCode(error)})`, error)
  }
}

/** The error of the library can quote its input, which can be a key. */
function parsePem<T>(file: string, kind: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw tlsError(`${file} is not a valid ${kind} in PEM (${systemCode(error) || "malformed"})`)
  }
}

const tlsError = (message: string, cause?: unknown) => startError("tls_unusable", message, cause)
