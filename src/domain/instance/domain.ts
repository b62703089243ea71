import { hostName } from "../../kernel/net/host.ts"
import type { Page, SearchResult } from "../../kernel/page.ts"
import { type Cx, fold, paginate } from "../../store/index.ts"
import { findInstance, requireInstance } from "./commands.ts"

/** A domain of the instance. Times are in ms since the epoch. */
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

/** The domains of the instance: the primary one and the additional ones. */
export function domainsOf(cx: Cx, created: number): readonly InstanceDomain[] {
  const { publicUrl, domains } = requireInstance(cx)
  const { hostname } = new URL(publicUrl)
  const { [hostname]: message, ...others } = domains
  const primary = { generated: false, created, ...message, domain: hostname, primary: true }
  return [
    primary,
    ...Object.entries(others).map(([domain, other]) => ({ ...other, domain, primary: false })),
  ]
}

/** Whether a name is a domain of the instance, ignoring case (RFC 4343). */
export const hasDomain = (cx: Cx, name: string): boolean =>
  domainsOf(cx, 0).some(({ domain }) => domain === name.toLowerCase())

/** Whether a name leads to the instance, directly or through a trusted proxy. */
export const isKnownHost = (cx: Cx, name: string): boolean =>
  hasDomain(cx, hostName(name)) || Object.hasOwn(requireInstance(cx).trustedDomains, hostName(name))

/** The domains that a proxy can use for the instance. */
const trustedDomainsOf = (cx: Cx): readonly InstanceDomain[] =>
  Object.entries(requireInstance(cx).trustedDomains).map(([domain, created]) => ({
    domain,
    created,
    primary: false,
    generated: false,
  }))

export type DomainSort = "domain" | "primary" | "generated" | "created"

/** There are few domains, so they are filtered in memory. */
export function searchDomains(
  cx: Cx,
  query: {
    readonly of: "instance" | "trusted"
    readonly page: Page
    readonly filters: readonly DomainFilter[]
    readonly sort: DomainSort
  },
): SearchResult<InstanceDomain> {
  const { of, page, filters, sort } = query
  const all = of === "trusted" ? trustedDomainsOf(cx) : domainsOf(cx, findInstance(cx).created)
  const rows = all.filter((each) => filters.every((filter) => matches(each, filter)))
  return paginate(cx, rows, {
    page,
    requested: ["domains", of, sort, filters],
    by: (each) => [each[sort], each.domain],
  })
}

function matches(each: InstanceDomain, filter: DomainFilter): boolean {
  if ("primary" in filter) return each.primary === filter.primary
  if ("generated" in filter) return each.generated === filter.generated
  const comparison = comparisons[filter.method >> 1]
  // Domain names are compared without case (RFC 4343), regardless of the method.
  return comparison?.(fold(each.domain), fold(filter.text)) ?? false
}

/** The text methods of the API in pairs; the second of each pair ignores case. */
const comparisons: readonly ((text: string, part: string) => boolean)[] = [
  (text, part) => text === part,
  (text, part) => text.startsWith(part),
  (text, part) => text.includes(part),
  (text, part) => text.endsWith(part),
]
