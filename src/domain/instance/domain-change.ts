import { Fault } from "../../kernel/fault.ts"
import type { Draft } from "../../store/index.ts"
import { requireExists } from "./commands.ts"
import { type Instance, type InstanceEvent, instance } from "./model.ts"
import { claimName, parseDomain, releaseName } from "./name.ts"

/** The maximum number of domains; unknown names cost a lookup. */
const domainsMax = 100

type NewDomain = { readonly domain: string; readonly generated: boolean }

/** Adds a domain to the instance. Throws if it is already used by any instance. */
export const addDomain = instance.command<NewDomain>((state, { domain, generated }) => {
  requireExists(state)
  const name = parseDomain("custom_domain", domain)
  if (name === primaryOf(state) || Object.hasOwn(state.domains, name)) throw domainExistsError(name)
  requireBelowLimit(Object.keys(state.domains).length)
  const data = { domain: name, generated }
  return [{ type: "instance.domain.added", data, claims: [claimName(name)] }]
})

/** Removes a domain; does nothing if it does not exist. Throws for the primary domain. */
export const removeDomain = instance.command<string>((state, text) => {
  requireExists(state)
  const name = parseDomain("custom_domain", text)
  if (name === primaryOf(state)) {
    throw new Fault(
      "failed_precondition",
      "instance.domain_primary",
      "this is the primary domain, which is part of the public URL; make another domain " +
        "primary first",
    )
  }
  if (!Object.hasOwn(state.domains, name)) return []
  return [{ type: "instance.domain.removed", data: { domain: name }, claims: [releaseName(name)] }]
})

/** Keeps the previous primary domain as an additional one before it is replaced. */
export const keepPrimary = instance.command((state) => {
  requireExists(state)
  const name = primaryOf(state)
  if (Object.hasOwn(state.domains, name) || !isName(name)) return []
  requireBelowLimit(Object.keys(state.domains).length)
  const data = { domain: name, generated: false }
  const added: Draft<InstanceEvent> = {
    type: "instance.domain.added",
    data,
    claims: [claimName(name)],
  }
  return [added]
})

/** Allows a proxy to use a domain for the instance. */
export const addTrustedDomain = instance.command<string>((state, text) => {
  requireExists(state)
  const name = parseDomain("trusted_domain", text)
  if (Object.hasOwn(state.trustedDomains, name)) throw domainExistsError(name)
  requireBelowLimit(Object.keys(state.trustedDomains).length)
  return [{ type: "instance.trusted_domain.added", data: { domain: name } }]
})

/** Removes a trusted domain; does nothing if it does not exist. */
export const removeTrustedDomain = instance.command<string>((state, text) => {
  requireExists(state)
  const name = parseDomain("trusted_domain", text)
  if (!Object.hasOwn(state.trustedDomains, name)) return []
  return [{ type: "instance.trusted_domain.removed", data: { domain: name } }]
})

/** Removes the instance; its domains can be used again immediately. */
export const removeInstance = instance.command((state) => {
  if (state.status !== "active") return []
  const names = new Set([primaryOf(state), ...Object.keys(state.domains)])
  return [{ type: "instance.removed", data: {}, claims: [...names].map(releaseName) }]
})

/** The public URL with another domain. Throws if the domain does not belong to the instance. */
export function publicUrlAt(state: Instance, text: string): string {
  const name = parseDomain("domain", text)
  if (name !== primaryOf(state) && !Object.hasOwn(state.domains, name)) {
    throw new Fault(
      "not_found",
      "instance.domain_missing",
      `${name} is not a domain of this instance; add it first`,
    )
  }
  const url = new URL(state.publicUrl)
  url.hostname = name
  return url.origin
}

const primaryOf = (state: Instance): string => new URL(state.publicUrl).hostname

/** An IP address can't be an additional domain. */
const isName = (hostname: string) => !/^\[|^[\d.]+$/.test(hostname)

function requireBelowLimit(count: number): void {
  if (count < domainsMax) return
  throw new Fault(
    "resource_exhausted",
    "instance.too_many_domains",
    `an instance can have at most ${domainsMax} domains; remove an unused one`,
  )
}

const domainExistsError = (name: string) =>
  new Fault("already_exists", "instance.domain_exists", `${name} already exists`)
