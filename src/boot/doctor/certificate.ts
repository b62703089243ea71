import { X509Certificate } from "node:crypto"
import type { Config } from "../../kernel/config.ts"
import { Fault } from "../../kernel/fault.ts"
import { readCertificates } from "../edge/certificate.ts"
import { authorityOf, type Failure, type Held, type Root, readKept, wayToUs } from "../edge/kept.ts"
import type { Folder } from "../folder/folder.ts"
import { type Finding, ok, warning, wrong } from "./finding.ts"

const dayMs = 86_400_000
const daysMin = 14

/** The files of the certificates: a server that runs goes on with the last that it could use. */
export const checkFiles = (config: Config, now: number): readonly Finding[] =>
  unlessRefused("put files there that belong together", () =>
    readCertificates(config).map(({ names, ends }) =>
      daysLeft(`the file of ${names.join(", ") || "no host"}`, ends - now),
    ),
  )

function daysLeft(what: string, leftMs: number): Finding {
  const days = Math.floor(leftMs / dayMs)
  const said = `${what} is good for ${days} days`
  if (days < 0) return wrong("tls", `${said}: it has ended`, "renew the certificate")
  return days < daysMin ? warning("tls", said, "see why nobody renews it") : ok("tls", said)
}

/** The certificates that the server gets by itself: how long they hold, and what went wrong. */
export function checkKept(folder: Folder, config: Config, now: number): readonly Finding[] {
  if (!config.tls) return []
  return unlessRefused("move the file away", () => {
    const { held, failures, roots } = readKept(folder)
    const by = authorityOf(config)
    const own = held.filter((each) => each.by === by)
    const failed = failures.filter((each) => each.by === by)
    const good = own.filter(({ host }) => !failed.some((each) => each.host === host))
    const findings = [
      ...good.map((each) => daysLeft(`the certificate of ${each.host}`, endOf(each) - now)),
      ...failed.map((failure) => failedFinding(failure, own, { now, config })),
      ...(config.tls === "internal" ? roots.map((root) => rootFinding(root, now)) : []),
    ]
    return findings.length > 0 ? findings : [noneYet(config)]
  })
}

function noneYet(config: Config): Finding {
  const secure = "have the public address begin with https://"
  const name = `a public authority wants a name of the internet, and ${wayToUs(config)}`
  const todo = config.tls === "acme" ? `${secure}; ${name}` : secure
  return warning("tls", "no certificate was asked for yet", todo)
}

/** Devices trust it for years, and must be told in time of the one that comes after it. */
function rootFinding({ host, cert }: Root, now: number): Finding {
  const { fingerprint256, validTo } = new X509Certificate(cert)
  const until = new Date(validTo).toISOString().slice(0, 10)
  const said = `devices trust ${host} by the root ${fingerprint256}, until ${until}`
  if (Date.parse(validTo) - now > 365 * dayMs) return ok("root", said)
  return warning(
    "root",
    said,
    `move certificates.json away for a new one, at https://${host}/ui/trust`,
  )
}

const endOf = ({ cert }: Held): number => Date.parse(new X509Certificate(cert).validTo)

function failedFinding(
  { host, said, next }: Failure,
  held: readonly Held[],
  { now, config }: { readonly now: number; readonly config: Config },
): Finding {
  const current = held.find((each) => each.host === host)
  const left = current ? Math.floor((endOf(current) - now) / dayMs) : undefined
  const again = `next try ${new Date(next).toISOString()}`
  const todo = `have the name lead here, and ${wayToUs(config)}; ${again}`
  if (left === undefined) return wrong("tls", `${host} has no certificate: ${said}`, todo)
  const words = `the certificate of ${host}, good for ${left} days, is not renewed: ${said}`
  return left < daysMin ? wrong("tls", words, todo) : warning("tls", words, todo)
}

function unlessRefused(todo: string, look: () => readonly Finding[]): readonly Finding[] {
  try {
    return look()
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    return [wrong("tls", cause.message, todo)]
  }
}
