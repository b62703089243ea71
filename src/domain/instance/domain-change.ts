import { Fault } from "../../kernel/fault.ts"
import type { Draft } from "../../store/index.ts"
import { mustExist } from "./commands.ts"
import { type Instance, type InstanceEvent, instance } from "./model.ts"
import { domainOf, releaseName, takeName } from "./name.ts"

/** As many as an instance can have a use for; each is looked at when it is asked for. */
const domainsMax = 100

type NewDomain = { readonly domain: string; readonly generated: boolean }

/** Makes the instance answer at another name. Refuses one that is taken, here or elsewhere. */
export const addDomain = instance.command<NewDomain>((state, { domain, generated }) => {
  mustExist(state)
  const name = domainOf("custom_domain", domain)
  if (name === primaryOf(state) || Object.hasOwn(state.domains, name)) throw hasItError(name)
  mustHaveRoom(Object.keys(state.domains).length)
  const data = { domain: name, generated }
  return [{ type: "instance.domain.added", data, claims: [takeName(name)] }]
})

/** Takes a name away; nothing happens where it is none. Refuses the one of the public address. */
export const removeDomain = instance.command<string>((state, text) => {
  mustExist(state)
  const name = domainOf("custom_domain", text)
  if (name === primaryOf(state)) {
    throw new Fault(
      "failed_precondition",
      "instance.domain_primary",
      "this is the primary domain, which addresses are made of; make another one primary first",
    )
  }
  if (!Object.hasOwn(state.domains, name)) return []
  return [{ type: "instance.domain.removed", data: { domain: name }, claims: [releaseName(name)] }]
})

/** Keeps the name of the public address as one of the others, before another takes its place. */
export const keepPrimary = instance.command((state) => {
  mustExist(state)
  const name = primaryOf(state)
  if (Object.hasOwn(state.domains, name) || !isName(name)) return []
  mustHaveRoom(Object.keys(state.domains).length)
  const data = { domain: name, generated: false }
  const added: Draft<InstanceEvent> = {
    type: "instance.domain.added",
    data,
    claims: [takeName(name)],
  }
  return [added]
})

/** Lets a proxy show the instance under a name. */
export const addTrustedDomain = instance.command<string>((state, text) => {
  mustExist(state)
  const name = domainOf("trusted_domain", text)
  if (Object.hasOwn(state.trustedDomains, name)) throw hasItError(name)
  mustHaveRoom(Object.keys(state.trustedDomains).length)
  return [{ type: "instance.trusted_domain.added", data: { domain: name } }]
})

/** Trusts a name no more; nothing happens where it was not trusted. */
export const removeTrustedDomain = instance.command<string>((state, text) => {
  mustExist(state)
  const name = domainOf("trusted_domain", text)
  if (!Object.hasOwn(state.trustedDomains, name)) return []
  return [{ type: "instance.trusted_domain.removed", data: { domain: name } }]
})

/** Puts the instance out of reach. Its names are free again at once. */
export const removeInstance = instance.command((state) => {
  if (state.status !== "active") return []
  const names = new Set([primaryOf(state), ...Object.keys(state.domains)])
  return [{ type: "instance.removed", data: {}, claims: [...names].map(releaseName) }]
})

/** The public address with another name in it. Refuses a name that is not the instance's. */
export function publicUrlAt(state: Instance, text: string): string {
  const name = domainOf("domain", text)
  if (name !== primaryOf(state) && !Object.hasOwn(state.domains, name)) {
    throw new Fault(
      "not_found",
      "instance.domain_missing",
      `${name} is no domain of this instance; add it first`,
    )
  }
  const url = new URL(state.publicUrl)
  url.hostname = name
  return url.origin
}

const primaryOf = (state: Instance): string => new URL(state.publicUrl).hostname

/** An address of numbers is no name that could be kept. */
const isName = (hostname: string) => !/^\[|^[\d.]+$/.test(hostname)

function mustHaveRoom(count: number): void {
  if (count < domainsMax) return
  throw new Fault(
    "resource_exhausted",
    "instance.too_many_domains",
    `an instance has at most ${domainsMax} domains; remove one that is no longer used`,
  )
}

const hasItError = (name: string) =>
  new Fault("already_exists", "instance.domain_exists", `${name} is there already`)
