import { createPrivateKey, X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { createSecureContext } from "node:tls"
import type { Config } from "../../kernel/config.ts"
import { startError, systemCode } from "../start-error.ts"

/** A certificate with those that lead to its root, and its key, as PEM. */
export type Certificate = {
  readonly cert: string
  readonly key: string
  /** Host names that it is for; "*.example.com" for those below one. */
  readonly names: readonly string[]
  /** ms UTC. */
  readonly ends: number
}

/**
 * The certificates of the configuration, the first for whoever names no host. Refuses, in words,
 * files that can't be read or don't belong together.
 */
export const readCertificates = ({ tlsCert, tlsKey }: Pick<Config, "tlsCert" | "tlsKey">) =>
  tlsCert.map((file, at) => readCertificate(file, tlsKey[at] ?? ""))

const readCertificate = (certFile: string, keyFile: string): Certificate =>
  certificateOf({ cert: textOf(certFile), key: textOf(keyFile) }, certFile, keyFile)

/**
 * A certificate and its key in PEM, with what it says of itself. Refuses what doesn't belong
 * together, in words that name where they come from.
 */
export function certificateOf(
  { cert, key }: Pick<Certificate, "cert" | "key">,
  certFile: string,
  keyFile: string,
): Certificate {
  const parsed = understood(certFile, "certificate", () => new X509Certificate(cert))
  const secret = understood(keyFile, "private key without a passphrase", () =>
    createPrivateKey(key),
  )
  if (!parsed.checkPrivateKey(secret)) {
    throw tlsError(`the key in ${keyFile} is not that of the first certificate in ${certFile}`)
  }
  // All of it: a file that is half written may have its first certificate whole.
  understood(certFile, "chain of certificates that TLS can use", () =>
    createSecureContext({ cert, key }),
  )
  const names = (parsed.subjectAltName ?? "")
    .split(", ")
    .flatMap((each) => (each.startsWith("DNS:") ? each.slice("DNS:".length).toLowerCase() : []))
  return { cert, key, names, ends: Date.parse(parsed.validTo) }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    throw tlsError(`${file} can't be read (${systemCode(error)})`, error)
  }
}

/** The library's message may quote what it was given, and that may be a key. */
function understood<T>(file: string, what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw tlsError(`${file} is no ${what} in PEM (${systemCode(error) || "malformed"})`)
  }
}

const tlsError = (message: string, cause?: unknown) => startError("tls_unusable", message, cause)
