import { isIP } from "node:net"
import { type Certificate, certificateOf } from "../../boot/edge/certificate.ts"
import { type Held, type Kept, keptError, readKept } from "../../boot/edge/kept.ts"
import { writeDurably } from "../../boot/folder/durable.ts"
import type { Folder } from "../../boot/folder/folder.ts"
import { Fault, reasonText } from "../../kernel/fault.ts"
import { keepRounds } from "../background/round.ts"
import type { ServerServices } from "../services.ts"
import { failedOnce, renewalOf } from "./renewal.ts"
import { bareHost, createStandIn } from "./x509.ts"

/** A new certificate with its key, in PEM. Times are ms UTC. */
export type Issued = {
  readonly cert: string
  readonly key: string
  readonly from: number
  readonly ends: number
}

/** Who gives certificates. */
export type Issuer = {
  /** What tells it from others, for what one gave serves for no other. */
  readonly by: string
  /** Rejects with a Fault where there is none to be had now. */
  readonly issue: (host: string) => Promise<Issued>
}

/** What lies in the file, and the one way to change it. */
export type Shelf = {
  readonly kept: () => Kept
  readonly put: (kept: Kept) => void
  readonly seal: (plain: string, about: string) => string
  readonly open: (sealed: string, about: string) => string
}

export type Parts = Pick<ServerServices, "clock" | "random" | "secrets"> & {
  readonly log: {
    readonly error: (words: string, values: Readonly<Record<string, unknown>>) => void
    readonly info: (words: string, values: Readonly<Record<string, unknown>>) => void
  }
}

/** Opens the file of the certificates; this process alone writes it. */
export function openShelf({ certificates: file }: Folder, { secrets }: Parts): Shelf {
  let kept = readKept({ certificates: file })
  return {
    kept: () => kept,
    put: (changed) => {
      writeDurably(file, `${JSON.stringify(changed, null, 2)}\n`)
      kept = changed
    },
    seal: (plain, about) => secrets.seal("seal", plain, about),
    open: (sealed, about) => {
      const plain = secrets.open("seal", sealed, about)
      if (plain === undefined) throw keptError(file, "was sealed with the keys of other data")
      return plain
    },
  }
}

const everyMs = 10_000
const dayMs = 86_400_000

type Wanted = {
  readonly issuer: Issuer
  /** Whose certificates are wanted; it may be others each time. */
  readonly hosts: () => readonly string[]
}

/**
 * Certificates that are got, kept and renewed by themselves, one for each host. What there is
 * serves on while there is no newer one, and where there is nothing yet, something that nobody
 * trusts: so there is an answer to all who come.
 */
export async function ownCertificates(parts: Parts, shelf: Shelf, { issuer, hosts }: Wanted) {
  const { clock } = parts
  const now = clock.now()
  const life = { from: now - dayMs, to: now + 30 * dayMs }
  const pair = await createStandIn(hosts()[0] ?? "localhost", life)
  const standIn = certificateOf(pair, "the stand-in", "its own")
  const current = (): readonly Certificate[] => {
    const all = [...hosts()].sort((a, b) => rank(a) - rank(b))
    const found = all.flatMap((host) => heldFor(shelf.kept(), issuer, host) ?? [])
    return found.length > 0 ? found.map((held) => certificateIn(shelf, held)) : [standIn]
  }
  const first = current()
  return {
    first,
    keep: (present: (certificates: readonly Certificate[]) => void) => {
      let shown = JSON.stringify(first)
      const stopping = Promise.withResolvers<void>()
      const rounds = keepRounds(clock, everyMs, async (isStopped) => {
        for (const host of hosts()) {
          if (!isDue(shelf.kept(), issuer, { host, now: clock.now() })) continue
          const work = renewed(parts, shelf, { issuer, host, isStopped })
          // Whoever stops waits for nobody's answer.
          await Promise.race([work, stopping.promise])
          if (isStopped()) return
        }
        const certificates = current()
        const text = JSON.stringify(certificates)
        if (text === shown) return
        shown = text
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

const heldFor = ({ held }: Kept, { by }: Issuer, host: string): Held | undefined =>
  held.find((each) => each.by === by && each.host === host)

const aboutKey = ({ by, host }: Pick<Held, "by" | "host">) => `certificate of ${host} by ${by}`

const certificateIn = (shelf: Shelf, held: Held): Certificate => ({
  ...certificateOf(
    { cert: held.cert, key: shelf.open(held.sealedKey, aboutKey(held)) },
    `the certificate of ${held.host}`,
    `the key of ${held.host}`,
  ),
  names: isAddress(held.host) ? [] : [held.host],
})

/** RFC 6066 §3: who comes by an address asks for nobody, and is shown the first. */
const isAddress = (host: string): boolean => isIP(bareHost(host)) !== 0
const rank = (host: string): number => (isAddress(host) ? 0 : 1)

function isDue(
  kept: Kept,
  issuer: Issuer,
  { host, now }: { readonly host: string; readonly now: number },
): boolean {
  const held = heldFor(kept, issuer, host)
  const failure = kept.failures.find((each) => each.by === issuer.by && each.host === host)
  return now >= (held?.renew ?? 0) && now >= (failure?.next ?? 0)
}

type Due = {
  readonly issuer: Issuer
  readonly host: string
  readonly isStopped: () => boolean
}

async function renewed(parts: Parts, shelf: Shelf, { issuer, host, isStopped }: Due) {
  const { clock, random, log } = parts
  const { by } = issuer
  const issued = await issuer.issue(host).catch((cause: unknown) => refusalIn(cause))
  if (isStopped()) return
  const kept = shelf.kept()
  const isOther = (each: { readonly by: string; readonly host: string }) =>
    each.by !== by || each.host !== host
  const failures = kept.failures.filter(isOther)
  if ("cert" in issued) {
    const { cert, key, ends } = issued
    const sealedKey = shelf.seal(key, aboutKey({ by, host }))
    const fresh = { by, host, cert, sealedKey, renew: renewalOf(issued, random) }
    shelf.put({ ...kept, held: [...kept.held.filter(isOther), fresh], failures })
    log.info("{host} has a new certificate, until {until}", { host, until: dateOf(ends) })
    return
  }
  const before = kept.failures.find((each) => !isOther(each))
  const failure = failedOnce(before, { ...issued, host, by }, { now: clock.now(), random })
  shelf.put({ ...kept, failures: [...failures, failure] })
  const { said, next } = failure
  log.error("no new certificate for {host}: {said}; the next try is at {next}", {
    host,
    said,
    next: new Date(next).toISOString(),
  })
}

/** Whatever goes wrong is told and tried again: people come in by the one there is. */
function refusalIn(cause: unknown): { readonly said: string; readonly waitMs: number } {
  const said = reasonText(cause)
  if (!(cause instanceof Fault)) return { said, waitMs: 0 }
  return { said, waitMs: 1000 * (cause.retryAfterSeconds ?? 0) }
}

const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10)
