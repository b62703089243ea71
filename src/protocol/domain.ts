import { domainToASCII, domainToUnicode } from "node:url"

const label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
const shape = new RegExp(`^(?=.{1,253}$)(${label}\\.)+(?!\\d+$)${label}$`)

/** What parts a domain from the rest of an address; some readers would cut there. */
const delimiter = /[\s/?#:@\\[\]]/

/**
 * The one form of a domain that is compared. What is none, such as a name below the numeric address
 * of a host, is compared as it is.
 */
export function domainOf(text: string): string {
  const name = text.trim()
  return (delimiter.test(name) ? "" : domainToASCII(name)) || name.toLowerCase()
}

/** Whether a text, in the form that is compared, is the name of a domain. */
export const isDomainName = (domain: string): boolean => shape.test(domain)

/**
 * A domain that an administrator lists, in the form that is compared; undefined for what is none.
 * `domainToASCII` decodes percent-encoded characters, which no domain has.
 */
export function listedDomainOf(text: string): string | undefined {
  const domain = domainOf(text)
  return isDomainName(domain) && !text.includes("%") ? domain : undefined
}

/**
 * The domain of an email address in the form that is compared; empty where the text is not an
 * address with one local part and one domain. `domainToASCII` decodes percent-encoded characters,
 * which no address has.
 */
export function emailDomainOf(address: string): string {
  const [, text = ""] = /^[^@\s]+@([^@\s%]+)$/.exec(address.trim()) ?? []
  const domain = domainOf(text)
  return isDomainName(domain) ? domain : ""
}

/** A domain as people write it: with the letters that "xn--" stands for (RFC 5890 U-labels). */
export const writtenDomain = (domain: string): string => domainToUnicode(domain) || domain
