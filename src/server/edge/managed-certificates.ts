import { isIP } from "node:net"
import { type Certificate, parseCertificate } from "../../boot/edge/certificate.ts"
import {
  type CertificateFile,
  certificateFileError,
  type HeldCertificate,
  readCertificateFile,
} from "../../boot/edge/certificate-file.ts"
import { writeDurably } from "../../boot/folder/durable.ts"
import type { Folder } from "../../boot/folder/folder.ts"
import { errorText, Fault } from "../../kernel/fault.ts"
import { startRepeating } from "../background/repeat.ts"
import type { ServerServices } from "../services.ts"
import { recordRenewalFailure, renewalTimeOf } from "./renewal.ts"
import { createSelfSigned, withoutBrackets } from "./x509.ts"

/** A new certificate with its key in PEM. Times are in ms since the epoch. */
export type IssuedCertificate = {
  readonly cert: string
  readonly key: string
  readonly from: number
  readonly ends: number
}

/** An authority that issues certificates. */
export type Issuer = {
  /** Identifies the issuer; certificates of another issuer are not used. */
  readonly by: string
  /** Rejects with a Fault if no certificate can be issued now. */
  readonly issue: (host: string) => Promise<IssuedCertificate>
}

/** The content of the certificate file and the only way to change it. */
export type CertificateStore = {
  readonly content: () => CertificateFile
  readonly write: (content: CertificateFile) => void
  readonly seal: (plain: string, context: string) => string
  readonly open: (sealed: string, context: string) => string
}

export type ManagedCertificatesParts = Pick<ServerServices, "clock" | "random" | "secrets"> & {
  readonly log: {
    readonly error: (message: string, values: Readonly<Record<string, unknown>>) => void
    readonly info: (message: string, values: Readonly<Record<string, unknown>>) => void
  }
}

/** Opens the certificate file; only this process writes it. */
export function openCertificateStore(
  { certificates: file }: Folder,
  { secrets }: ManagedCertificatesParts,
): CertificateStore {
  let content = readCertificateFile({ certificates: file })
  return {
    content: () => content,
    write: (changed) => {
      writeDurably(file, `${JSON.stringify(changed, null, 2)}\n`)
      content = changed
    },
    seal: (plain, context) => secrets.seal("seal", plain, context),
    open: (sealed, context) => {
      const plain = secrets.open("seal", sealed, context)
      if (plain === undefined)
        throw certificateFileError(file, "was sealed with the keys of another data directory")
      return plain
    },
  }
}

const intervalMs = 10_000
const dayMs = 86_400_000

type ManagedCertificatesOptions = {
  readonly issuer: Issuer
  /** The hosts that need certificates, which can change. */
  readonly hosts: () => readonly string[]
}

/**
 * Obtains, stores and renews certificates, one for each host. The previous certificate stays in use
 * until there is a newer one. Without a certificate, a self-signed one is used, so that every
 * client gets a response.
 */
export async function manageCertificates(
  parts: ManagedCertificatesParts,
  certificateStore: CertificateStore,
  { issuer, hosts }: ManagedCertificatesOptions,
) {
  const { clock } = parts
  const now = clock.now()
  const life = { from: now - dayMs, to: now + 30 * dayMs }
  const pair = await createSelfSigned(hosts()[0] ?? "localhost", life)
  const standIn = parseCertificate(pair, "the self-signed certificate", "its own")
  const current = (): readonly Certificate[] => {
    const all = [...hosts()].sort((a, b) => sortRank(a) - sortRank(b))
    const found = all.flatMap(
      (host) => findCertificate(certificateStore.content(), issuer, host) ?? [],
    )
    return found.length > 0
      ? found.map((stored) => openCertificate(certificateStore, stored))
      : [standIn]
  }
  const first = current()
  return {
    first,
    keep: (present: (certificates: readonly Certificate[]) => void) => {
      let currentKey = JSON.stringify(first)
      const stopping = Promise.withResolvers<void>()
      const rounds = startRepeating(clock, intervalMs, async (isStopped) => {
        for (const host of hosts()) {
          if (!isDue(certificateStore.content(), issuer, { host, now: clock.now() })) continue
          const work = renew(parts, certificateStore, { issuer, host, isStopped })
          // A stop does not wait for pending requests.
          await Promise.race([work, stopping.promise])
          if (isStopped()) return
        }
        const certificates = current()
        const text = JSON.stringify(certificates)
        if (text === currentKey) return
        currentKey = text
        present(certificates)
      })
      const stop = () => {
        stopping.resolve()
        return rounds.stop()
      }
      return { stop }
    },
  }
}

const findCertificate = (
  { held: stored }: CertificateFile,
  { by }: Issuer,
  host: string,
): HeldCertificate | undefined => stored.find((each) => each.by === by && each.host === host)

const sealContextOf = ({ by, host }: Pick<HeldCertificate, "by" | "host">) =>
  `certificate of ${host} by ${by}`

const openCertificate = (
  certificateStore: CertificateStore,
  stored: HeldCertificate,
): Certificate => ({
  ...parseCertificate(
    { cert: stored.cert, key: certificateStore.open(stored.sealedKey, sealContextOf(stored)) },
    `the certificate of ${stored.host}`,
    `the key of ${stored.host}`,
  ),
  names: isAddress(stored.host) ? [] : [stored.host],
})

/**
 * RFC 6066 §3: clients that use an IP address send no server name and get the first certificate.
 */
const isAddress = (host: string): boolean => isIP(withoutBrackets(host)) !== 0
const sortRank = (host: string): number => (isAddress(host) ? 0 : 1)

function isDue(
  content: CertificateFile,
  issuer: Issuer,
  { host, now }: { readonly host: string; readonly now: number },
): boolean {
  const stored = findCertificate(content, issuer, host)
  const failure = content.failures.find((each) => each.by === issuer.by && each.host === host)
  return now >= (stored?.renew ?? 0) && now >= (failure?.next ?? 0)
}

type RenewalInput = {
  readonly issuer: Issuer
  readonly host: string
  readonly isStopped: () => boolean
}

async function renew(
  parts: ManagedCertificatesParts,
  certificateStore: CertificateStore,
  { issuer, host, isStopped }: RenewalInput,
) {
  const { clock, random, log } = parts
  const { by } = issuer
  const issued = await issuer.issue(host).catch((cause: unknown) => failureOf(cause))
  if (isStopped()) return
  const content = certificateStore.content()
  const isOther = (each: { readonly by: string; readonly host: string }) =>
    each.by !== by || each.host !== host
  const failures = content.failures.filter(isOther)
  if ("cert" in issued) {
    const { cert, key, ends } = issued
    const sealedKey = certificateStore.seal(key, sealContextOf({ by, host }))
    const fresh = { by, host, cert, sealedKey, renew: renewalTimeOf(issued, random) }
    certificateStore.write({ ...content, held: [...content.held.filter(isOther), fresh], failures })
    log.info("{host} has a new certificate, until {until}", { host, until: formatDate(ends) })
    return
  }
  const before = content.failures.find((each) => !isOther(each))
  const failure = recordRenewalFailure(
    before,
    { ...issued, host, by },
    { now: clock.now(), random },
  )
  certificateStore.write({ ...content, failures: [...failures, failure] })
  const { said: cause, next } = failure
  log.error("{host} could not be renewed: {cause}; next attempt at {next}", {
    host,
    cause,
    next: new Date(next).toISOString(),
  })
}

/** Every error is logged and retried; the previous certificate stays in use. */
function failureOf(cause: unknown): { readonly said: string; readonly waitMs: number } {
  const messageValue = errorText(cause)
  if (!(cause instanceof Fault)) return { said: messageValue, waitMs: 0 }
  return { said: messageValue, waitMs: 1000 * (cause.retryAfterSeconds ?? 0) }
}

const formatDate = (time: number): string => new Date(time).toISOString().slice(0, 10)
