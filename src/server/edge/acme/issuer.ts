import { readFileSync } from "node:fs"
import { isIP } from "node:net"
import { startError, systemCode } from "../../../boot/start-error.ts"
import type { Clock } from "../../../kernel/clock.ts"
import type { Config } from "../../../kernel/config.ts"
import { loadOnce } from "../../../kernel/lazy.ts"
import { createOutbound } from "../../../notify/outbound.ts"
import { type Network, systemNetwork } from "../../../runtime/network.ts"
import type { CertificateStore, Issuer } from "../managed-certificates.ts"
import { createAccountKey, openAccount } from "./account.ts"
import type { AcmeChallenge } from "./challenge.ts"
import { orderCertificate } from "./order.ts"

type Settings = Pick<Config, "acmeDirectory" | "acmeEmail" | "acmeRoot" | "outboundAllow">

/** An ACME authority (RFC 8555), with `proof` as the type of challenge. */
export function createAcmeIssuer(
  { acmeDirectory: directory, acmeEmail: email, acmeRoot, outboundAllow }: Settings,
  {
    clock,
    shelf,
    proof: challenge,
  }: {
    readonly clock: Clock
    readonly shelf: CertificateStore
    readonly proof: AcmeChallenge
  },
): Issuer {
  // The host of the directory is configured by the operator and always allowed; other URLs are
  // restricted as usual.
  const host = new URL(directory).hostname.replace(/^\[|\]$/g, "")
  const allow = [...outboundAllow, { host }]
  const send = createOutbound({ ...systemNetwork, send: createSend(acmeRoot), clock, allow })
  const key = loadOnce(() => loadAccountKey(shelf, directory))
  return {
    by: directory,
    issue: async (name) => {
      const registration = { directory, email, key: await key(), send, now: clock.now }
      return orderCertificate(await openAccount(registration), {
        host: name,
        clock,
        proof: challenge,
      })
    },
  }
}

/**
 * Whether a public authority can issue for a name: it has a dot and is not an IP address (RFC 8555
 * §7.1.3).
 */
export const isPublicName = (host: string): boolean =>
  isIP(host) === 0 && host.includes(".") && !/[[\]:]|\.(local|localhost|internal)$/.test(host)

/** Stored before it is used, because an account without its key could not be used again. */
async function loadAccountKey(shelf: CertificateStore, by: string) {
  const about = `account with ${by}`
  const content = shelf.content()
  const found = content.accounts.find((each) => each.by === by)
  if (found) return JSON.parse(shelf.open(found.sealedKey, about))
  const newKey = await createAccountKey()
  const sealedKey = shelf.seal(JSON.stringify(newKey), about)
  shelf.write({ ...content, accounts: [...content.accounts, { by, sealedKey }] })
  return newKey
}

function createSend(root: string | undefined): Network["send"] {
  if (root === undefined) return systemNetwork.send
  const ca = readRoot(root)
  const send = (url: Parameters<Network["send"]>[0], init?: BunFetchRequestInit) =>
    systemNetwork.send(url, { ...init, tls: { ...init?.tls, ca } })
  return Object.assign(send, { preconnect: systemNetwork.send.preconnect })
}

function readRoot(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch (cause) {
    throw startError("tls_unusable", `${file} can't be read (${systemCode(cause)})`, cause)
  }
}
