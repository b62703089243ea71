import { domainToASCII, domainToUnicode } from "node:url"

const label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
const shape = new RegExp(`^(?=.{1,253}$)(${label}\\.)+(?!\\d+$)${label}$`)

/** Characters that end the domain in some URL parsers. */
const delimiter = /[\s/?#:@\\[\]]/

/**
 * Normalizes a domain for comparison. Invalid domains, such as a name below a numeric address, are
 * returned unchanged.
 */
export function normalizeDomain(text: string): string {
  const name = text.trim()
  return (delimiter.test(name) ? "" : domainToASCII(name)) || name.toLowerCase()
}

/** Whether a normalized text is a valid domain name. */
export const isDomainName = (domain: string): boolean => shape.test(domain)

/**
 * Normalizes a domain that an administrator lists; undefined if invalid. `domainToASCII` decodes
 * percent-encoded characters, which no domain contains.
 */
export function parseListedDomain(text: string): string | undefined {
  const domain = normalizeDomain(text)
  return isDomainName(domain) && !text.includes("%") ? domain : undefined
}

/**
 * The normalized domain of an email address; empty if the text is not an address with one local
 * part and one domain. `domainToASCII` decodes percent-encoded characters, which no address
 * contains.
 */
export function emailDomainOf(address: string): string {
  const [, text = ""] = /^[^@\s]+@([^@\s%]+)$/.exec(address.trim()) ?? []
  const domain = normalizeDomain(text)
  return isDomainName(domain) ? domain : ""
}

/** A domain as users write it, with Unicode letters instead of "xn--" (RFC 5890 U-labels). */
export const toUnicodeDomain = (domain: string): string => domainToUnicode(domain) || domain
