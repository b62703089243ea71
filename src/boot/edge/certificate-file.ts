import { existsSync, readFileSync } from "node:fs"
import * as z from "zod/mini"
import type { Config } from "../../kernel/config.ts"
import type { Folder } from "../folder/folder.ts"
import { startError, systemCode } from "../start-error.ts"

// The certificates that the server obtains automatically are in one small file of the data
// directory. Public data is readable for other commands; keys are sealed.

/** A certificate of a host. Times are in ms since the epoch. */
const heldCertificate = z.lazy(() =>
  z.object({
    host: z.string(),
    /** The issuer: the directory URL of an ACME authority, or `ownAuthority`. */
    by: z.string(),
    /** PEM with the chain. */
    cert: z.string(),
    sealedKey: z.string(),
    /** When to renew it. */
    renew: z.number(),
  }),
)

/** Why there is no newer certificate for a host. */
const renewalFailure = z.lazy(() =>
  z.object({
    host: z.string(),
    by: z.string(),
    /** The number of consecutive failures. */
    count: z.int(),
    said: z.string(),
    /** When to try again. */
    next: z.number(),
  }),
)

/** The root certificate that devices must trust for our own certificates of a host. */
const rootCertificate = z.lazy(() =>
  z.object({ host: z.string(), cert: z.string(), sealedKey: z.string() }),
)

const schema = z.lazy(() =>
  z.object({
    format: z.literal(1),
    /** Accounts by directory URL. */
    accounts: z.array(z.object({ by: z.string(), sealedKey: z.string() })),
    held: z.array(heldCertificate),
    roots: z._default(z.array(rootCertificate), []),
    failures: z.array(renewalFailure),
  }),
)

export type HeldCertificate = Readonly<z.output<typeof heldCertificate>>
export type RootCertificate = Readonly<z.output<typeof rootCertificate>>
export type RenewalFailure = Readonly<z.output<typeof renewalFailure>>
export type CertificateFile = Readonly<z.output<typeof schema>>

/** The issuer of our own certificates. */
export const ownAuthority = "internal"

/** The issuer according to the configuration. */
export const authorityOf = ({ tls, acmeDirectory }: Pick<Config, "tls" | "acmeDirectory">) =>
  tls === "internal" ? ownAuthority : acmeDirectory

type ChallengeConfig = Pick<Config, "acmeChallenge" | "listen">

/** Where the authority connects to, as a requirement for the operator. */
export const connectionRequirement = (config: ChallengeConfig): string =>
  config.acmeChallenge === "http-01"
    ? "forward port 80 to --redirect-listen"
    : `forward port 443 to --listen${otherPort(config)}`

/**
 * RFC 8737 §3: the authority always connects to port 443. The server can't verify that another
 * listen port is reached through it.
 */
export function portHint(config: ChallengeConfig): string | undefined {
  const other = otherPort(config)
  return other
    ? `the authority connects to port 443, which must be forwarded to --listen${other}`
    : undefined
}

const otherPort = ({ listen }: ChallengeConfig): string =>
  "path" in listen || listen.port === 443 ? "" : `, at port ${listen.port}`

/** The stored certificates. Throws if the file is not valid; never changes it. */
export function readCertificateFile({
  certificates: file,
}: Pick<Folder, "certificates">): CertificateFile {
  if (!existsSync(file)) return { format: 1, accounts: [], held: [], roots: [], failures: [] }
  const read = schema.safeParse(parseFile(file))
  if (read.success) return read.data
  throw certificateFileError(file, "is not a certificate file of this version")
}

function parseFile(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"))
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw certificateFileError(file, `can't be read (${systemCode(cause)})`, cause)
  }
}

/** The file can't be used; names the reason and the remedy. */
export const certificateFileError = (file: string, reason: string, cause?: unknown) =>
  startError("tls_unusable", `${file} ${reason}; move it away to obtain new certificates`, cause)
