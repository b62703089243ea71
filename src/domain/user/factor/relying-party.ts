import { isIP } from "node:net"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"

/** WebAuthn §4: for whom a key is made, and the pages that may ask for it. */
export type RelyingParty = { readonly id: string; readonly origins: readonly string[] }

/**
 * The relying party of a domain of the instance; of that of its public address where none is named.
 * Refuses a domain that is not the instance's, and an address that is no domain: keys are made for
 * names only (§5.1.3).
 */
export function relyingPartyOf(cx: Cx, domain = ""): RelyingParty {
  const { publicUrl, domains, trustedDomains } = requireInstance(cx)
  const { hostname } = new URL(publicUrl)
  const id = domain === "" ? hostname : domain.toLowerCase()
  const names = [hostname, ...Object.keys(domains), ...Object.keys(trustedDomains)]
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
  return { id, origins: originsOf(cx) }
}

const isDomain = (name: string): boolean => isIP(name.replace(/^\[|\]$/g, "")) === 0

/** Whether keys can be made for the instance: browsers know them on https and on localhost. */
export function hasKeys(cx: Cx): boolean {
  const { protocol, hostname } = new URL(requireInstance(cx).publicUrl)
  return isDomain(hostname) && (protocol === "https:" || /(^|\.)localhost$/.test(hostname))
}

/** The pages that may use the keys of the instance: its own, and those under its other domains. */
export function originsOf(cx: Cx): readonly string[] {
  const { publicUrl, domains, trustedDomains } = requireInstance(cx)
  const others = [...Object.keys(domains), ...Object.keys(trustedDomains)]
  return [...new Set([new URL(publicUrl).origin, ...others.map((name) => `https://${name}`)])]
}
