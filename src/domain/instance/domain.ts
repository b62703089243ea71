import type { Found, Page } from "../../kernel/page.ts"
import { type Cx, fold } from "../../store/index.ts"
import { requireInstance } from "./commands.ts"

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

/** The domains of the instance; today one, that of its public address. */
export function domainsOf(cx: Cx, created: number): readonly InstanceDomain[] {
  const { hostname } = new URL(requireInstance(cx).publicUrl)
  return [{ domain: hostname, primary: true, generated: false, created }]
}

/** Few enough to be searched without a table. */
export function searchDomains(
  all: readonly InstanceDomain[],
  { page, filters }: { readonly page: Page; readonly filters: readonly DomainFilter[] },
): Found<InstanceDomain> {
  const rows = all.filter((each) => filters.every((filter) => matches(each, filter)))
  const sorted = page.asc ? rows : rows.toReversed()
  return {
    rows: sorted.slice(page.offset, page.offset + page.limit),
    total: rows.length,
    limit: page.limit,
  }
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
