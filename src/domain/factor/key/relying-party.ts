import { isIP } from "node:net"
import { Fault } from "../../../kernel/fault.ts"
import { memoizeByObject } from "../../../kernel/lru.ts"
import type { Cx } from "../../../store/index.ts"
import { type Instance, requireInstance } from "../../instance/index.ts"

/** A relying party and the origins that can use its keys (WebAuthn §4). */
export type RelyingParty = { readonly id: string; readonly origins: readonly string[] }

/**
 * The relying party of a domain of the instance; by default that of its public URL. Rejects unknown
 * domains and IP addresses, for which browsers don't create keys (§5.1.3).
 */
export function relyingPartyOf(cx: Cx, domain = ""): RelyingParty {
  const { hostname, names, origins } = originsByInstance(requireInstance(cx))
  // RFC 3986 §3.2.2: a trailing dot doesn't change the name.
  const id = domain === "" ? hostname : domain.toLowerCase().replace(/\.$/, "")
  if (!names.includes(id)) {
    throw new Fault(
      "invalid_argument",
      "user.domain_unknown",
      "domain must be one of the domains or trusted domains of this instance; add it first",
    )
  }
  if (!isDomain(id)) {
    throw new Fault(
      "failed_precondition",
      "user.no_domain",
      "passkeys and security keys require a domain name such as id.example.com, not an IP " +
        "address",
    )
  }
  return { id, origins }
}

/** Cached per instance, because each sign-in needs these values. */
const originsByInstance = memoizeByObject(({ publicUrl, domains, trustedDomains }: Instance) => {
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

/** Whether browsers support keys on the instance, which requires HTTPS or localhost. */
export const areKeysSupported = (cx: Cx): boolean => originsByInstance(requireInstance(cx)).hasKeys

/** Origins that can use the keys of the instance: its own and those of its other domains. */
export const originsOf = (cx: Cx): readonly string[] =>
  originsByInstance(requireInstance(cx)).origins
