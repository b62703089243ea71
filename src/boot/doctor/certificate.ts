import { X509Certificate } from "node:crypto"
import type { Config } from "../../kernel/config.ts"
import { Fault } from "../../kernel/fault.ts"
import { readCertificates } from "../edge/certificate.ts"
import {
  authorityOf,
  connectionRequirement,
  type HeldCertificate,
  type RenewalFailure,
  type RootCertificate,
  readCertificateFile,
} from "../edge/certificate-file.ts"
import type { Folder } from "../folder/folder.ts"
import { type Finding, ok, problem, warning } from "./finding.ts"

const dayMs = 86_400_000
const warningDays = 14

/** Checks the certificate files. A running server keeps using the last valid certificate. */
export const checkCertificateFiles = (config: Config, now: number): readonly Finding[] =>
  catchFault("provide a certificate and a key that match", () =>
    readCertificates(config).map(({ names, expiresAt }) =>
      expiryFinding(`the certificate file of ${names.join(", ") || "no host"}`, expiresAt - now),
    ),
  )

function expiryFinding(subject: string, leftMs: number): Finding {
  const days = Math.floor(leftMs / dayMs)
  const text = `${subject} is valid for ${days} days`
  if (days < 0) return problem("tls", `${text}: it has expired`, "renew the certificate")
  return days < warningDays ? warning("tls", text, "check why it is not renewed") : ok("tls", text)
}

/**
 * Checks the certificates that the server obtains automatically: their validity and failed
 * attempts.
 */
export function checkManagedCertificates(
  folder: Folder,
  config: Config,
  now: number,
): readonly Finding[] {
  if (!config.tls) return []
  return catchFault("move the file away", () => {
    const { held: stored, failures, roots } = readCertificateFile(folder)
    const by = authorityOf(config)
    const own = stored.filter((each) => each.by === by)
    const failed = failures.filter((each) => each.by === by)
    const good = own.filter(({ host }) => !failed.some((each) => each.host === host))
    const findings = [
      ...good.map((each) => expiryFinding(`the certificate of ${each.host}`, expiryOf(each) - now)),
      ...failed.map((failure) => failedFinding(failure, own, { now, config })),
      ...(config.tls === "internal" ? roots.map((root) => rootFinding(root, now)) : []),
    ]
    return findings.length > 0 ? findings : [noCertificateFinding(config)]
  })
}

function noCertificateFinding(config: Config): Finding {
  const secure = "set a public URL that starts with https://"
  const name =
    "a public authority requires a public DNS name: set one, and " +
    `${connectionRequirement(config)}`
  const todo = config.tls === "acme" ? `${secure}; ${name}` : secure
  return warning("tls", "no certificate was requested yet", todo)
}

/** Devices trust the root for years, so the warning about its successor comes early. */
function rootFinding({ host, cert }: RootCertificate, now: number): Finding {
  const { fingerprint256, validTo } = new X509Certificate(cert)
  const until = new Date(validTo).toISOString().slice(0, 10)
  const text = `devices trust ${host} through the root ${fingerprint256}, until ${until}`
  if (Date.parse(validTo) - now > 365 * dayMs) return ok("root", text)
  return warning(
    "root",
    text,
    "move certificates.json away to create a new root, then install it from " +
      `https://${host}/ui/trust`,
  )
}

const expiryOf = ({ cert }: HeldCertificate): number =>
  Date.parse(new X509Certificate(cert).validTo)

function failedFinding(
  { host, said: text, next }: RenewalFailure,
  stored: readonly HeldCertificate[],
  { now, config }: { readonly now: number; readonly config: Config },
): Finding {
  const current = stored.find((each) => each.host === host)
  const daysLeft = current ? Math.floor((expiryOf(current) - now) / dayMs) : undefined
  const nextAttempt = `next attempt ${new Date(next).toISOString()}`
  const todo =
    `make the name resolve to this server, and ${connectionRequirement(config)}; ` +
    `${nextAttempt}`
  if (daysLeft === undefined) return problem("tls", `${host} has no certificate: ${text}`, todo)
  const renewalText =
    `the certificate of ${host}, valid for ${daysLeft} days, could not be ` + `renewed: ${text}`
  return daysLeft < warningDays
    ? problem("tls", renewalText, todo)
    : warning("tls", renewalText, todo)
}

function catchFault(todo: string, check: () => readonly Finding[]): readonly Finding[] {
  try {
    return check()
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    return [problem("tls", cause.message, todo)]
  }
}
