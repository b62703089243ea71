import { hostName } from "../../kernel/net/host.ts"
import type { Found, Page } from "../../kernel/page.ts"
import { type Cx, fold, windowOf } from "../../store/index.ts"
import { findInstance, requireInstance } from "./commands.ts"

/** A name that the instance is reached by. Times are ms UTC. */
export type InstanceDomain = {
  readonly domain: string
  readonly primary: boolean
  readonly generated: boolean
  readonly created: number
}

export type DomainFilter =
  | { readonly text: string; readonly method: number }
  | { readonly primary: boolean }
  | { readonly generated: boolean }

/** The domains of the instance: that of its public address, and those it has beside it. */
export function domainsOf(cx: Cx, created: number): readonly InstanceDomain[] {
  const { publicUrl, domains } = requireInstance(cx)
  const { hostname } = new URL(publicUrl)
  const { [hostname]: said, ...others } = domains
  const primary = { generated: false, created, ...said, domain: hostname, primary: true }
  return [
    primary,
    ...Object.entries(others).map(([domain, other]) => ({ ...other, domain, primary: false })),
  ]
}

/** Whether the instance has a name for one of its domains; case says nothing (RFC 4343). */
export const hasDomain = (cx: Cx, name: string): boolean =>
  domainsOf(cx, 0).some(({ domain }) => domain === name.toLowerCase())

/** Whether the instance is, or may be shown, under a name: what leads there stays with us. */
export const isKnownHost = (cx: Cx, name: string): boolean =>
  hasDomain(cx, hostName(name)) || Object.hasOwn(requireInstance(cx).trustedDomains, hostName(name))

/** The domains that a proxy may show it under. */
const trustedDomainsOf = (cx: Cx): readonly InstanceDomain[] =>
  Object.entries(requireInstance(cx).trustedDomains).map(([domain, created]) => ({
    domain,
    created,
    primary: false,
    generated: false,
  }))

export type DomainSort = "domain" | "primary" | "generated" | "created"

/** Few enough to be searched without a table. */
export function searchDomains(
  cx: Cx,
  query: {
    readonly of: "instance" | "trusted"
    readonly page: Page
    readonly filters: readonly DomainFilter[]
    readonly sort: DomainSort
  },
): Found<InstanceDomain> {
  const { of, page, filters, sort } = query
  const all = of === "trusted" ? trustedDomainsOf(cx) : domainsOf(cx, findInstance(cx).created)
  const rows = all.filter((each) => filters.every((filter) => matches(each, filter)))
  return windowOf(cx, rows, {
    page,
    requested: ["domains", of, sort, filters],
    by: (each) => [each[sort], each.domain],
  })
}

function matches(each: InstanceDomain, filter: DomainFilter): boolean {
  if ("primary" in filter) return each.primary === filter.primary
  if ("generated" in filter) return each.generated === filter.generated
  const comparison = comparisons[filter.method >> 1]
  // Domain names are compared without case (RFC 4343), whatever the method says.
  return comparison?.(fold(each.domain), fold(filter.text)) ?? false
}

/** Methods of the interface in pairs; the second of each pair ignores case. */
const comparisons: readonly ((text: string, part: string) => boolean)[] = [
  (text, part) => text === part,
  (text, part) => text.startsWith(part),
  (text, part) => text.includes(part),
  (text, part) => text.endsWith(part),
]
