import { isIP } from "node:net"
import { Fault } from "../../../kernel/fault.ts"
import { keptWith } from "../../../kernel/lru.ts"
import type { Cx } from "../../../store/index.ts"
import { type Instance, requireInstance } from "../../instance/index.ts"

/** WebAuthn §4: for whom a key is made, and the pages that may ask for it. */
export type RelyingParty = { readonly id: string; readonly origins: readonly string[] }

/**
 * The relying party of a domain of the instance; of that of its public address where none is named.
 * Refuses a domain that is not the instance's, and an address that is no domain: keys are made for
 * names only (§5.1.3).
 */
export function relyingPartyOf(cx: Cx, domain = ""): RelyingParty {
  const { hostname, names, origins } = known(requireInstance(cx))
  // RFC 3986 §3.2.2: a name with a final dot is the same.
  const id = domain === "" ? hostname : domain.toLowerCase().replace(/\.$/, "")
  if (!names.includes(id)) {
    throw new Fault(
      "invalid_argument",
      "user.domain_unknown",
      "this domain is not the instance's; add it to its domains or trusted domains first",
    )
  }
  if (!isDomain(id)) {
    throw new Fault(
      "failed_precondition",
      "user.no_domain",
      "passkeys and security keys need a name such as id.example.com, not a numeric address",
    )
  }
  return { id, origins }
}

/** What follows from the addresses of an instance; each sign-in asks. */
const known = keptWith(({ publicUrl, domains, trustedDomains }: Instance) => {
  const { origin, protocol, hostname } = new URL(publicUrl)
  const others = [...Object.keys(domains), ...Object.keys(trustedDomains)]
  const isSecure = protocol === "https:" || /(^|\.)localhost$/.test(hostname)
  return {
    hostname,
    names: [hostname, ...others],
    origins: [...new Set([origin, ...others.map((name) => `https://${name}`)])],
    hasKeys: isDomain(hostname) && isSecure,
  }
})

const isDomain = (name: string): boolean => isIP(name.replace(/^\[|\]$/g, "")) === 0

/** Whether keys can be made for the instance: browsers know them on https and on localhost. */
export const hasKeys = (cx: Cx): boolean => known(requireInstance(cx)).hasKeys

/** The pages that may use the keys of the instance: its own, and those under its other domains. */
export const originsOf = (cx: Cx): readonly string[] => known(requireInstance(cx)).origins
