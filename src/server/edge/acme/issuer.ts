import { readFileSync } from "node:fs"
import { isIP } from "node:net"
import { startError, systemCode } from "../../../boot/start-error.ts"
import type { Clock } from "../../../kernel/clock.ts"
import type { Config } from "../../../kernel/config.ts"
import { lazily } from "../../../kernel/lazy.ts"
import { outboundOf } from "../../../notify/outbound.ts"
import { type Network, systemNetwork } from "../../../runtime/network.ts"
import type { Issuer, Shelf } from "../own-certificates.ts"
import { accountOf, createAccountKey } from "./account.ts"
import type { Proof } from "./challenge.ts"
import { orderCertificate } from "./order.ts"

type Settings = Pick<Config, "acmeDirectory" | "acmeEmail" | "acmeRoot" | "outboundAllow">

/** An authority that speaks ACME (RFC 8555), and is shown by `proof` that a name leads here. */
export function acmeIssuer(
  { acmeDirectory: directory, acmeEmail: email, acmeRoot, outboundAllow }: Settings,
  {
    clock,
    shelf,
    proof,
  }: {
    readonly clock: Clock
    readonly shelf: Shelf
    readonly proof: Proof
  },
): Issuer {
  // The operator named it, wherever it is; what it leads to is looked at as anything else.
  const host = new URL(directory).hostname.replace(/^\[|\]$/g, "")
  const allow = [...outboundAllow, { host }]
  const send = outboundOf({ ...systemNetwork, send: trusting(acmeRoot), clock, allow })
  const key = lazily(() => accountKey(shelf, directory))
  return {
    by: directory,
    issue: async (name) => {
      const registration = { directory, email, key: await key(), send, now: clock.now }
      return orderCertificate(await accountOf(registration), { host: name, clock, proof })
    },
  }
}

/** Names that a public authority may speak for: with a dot, and no address (RFC 8555 §7.1.3). */
export const isPublicName = (host: string): boolean =>
  isIP(host) === 0 && host.includes(".") && !/[[\]:]|\.(local|localhost|internal)$/.test(host)

/** On disk before it is used: an account that nobody has the key of would be left behind. */
async function accountKey(shelf: Shelf, by: string) {
  const about = `account with ${by}`
  const kept = shelf.kept()
  const found = kept.accounts.find((each) => each.by === by)
  if (found) return JSON.parse(shelf.open(found.sealedKey, about))
  const made = await createAccountKey()
  const sealedKey = shelf.seal(JSON.stringify(made), about)
  shelf.put({ ...kept, accounts: [...kept.accounts, { by, sealedKey }] })
  return made
}

function trusting(root: string | undefined): Network["send"] {
  if (root === undefined) return systemNetwork.send
  const ca = rootIn(root)
  const send = (url: Parameters<Network["send"]>[0], init?: BunFetchRequestInit) =>
    systemNetwork.send(url, { ...init, tls: { ...init?.tls, ca } })
  return Object.assign(send, { preconnect: systemNetwork.send.preconnect })
}

function rootIn(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch (cause) {
    throw startError("tls_unusable", `${file} can't be read (${systemCode(cause)})`, cause)
  }
}
