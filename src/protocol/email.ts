import { domainToASCII, domainToUnicode } from "node:url"
import { foldExceptSigma, sigmaForms } from "../kernel/text/name.ts"

/** What parts a domain from the rest of an address, or is decoded by readers of domains. */
const delimiter = /[\s/?#:@\\[\]%]/

/**
 * The one form in which email addresses, and names that look like one, are compared: folded, with
 * the domain in letters (RFC 5890 U-labels), so that max@müller.test and max@xn--mller-kva.test are
 * one. Email addresses must not be compared in any other form where it matters whose they are: to a
 * mail server and to DNS, "ς" and "σ" can be two.
 */
export function foldEmail(address: string): string {
  const folded = foldExceptSigma(address)
  const at = folded.lastIndexOf("@")
  const domain = folded.slice(at + 1)
  if (at < 0 || isAscii(domain)) return folded
  const name = asciiDomain(domain)
  return name === "" ? folded : foldExceptSigma(folded.slice(0, at + 1) + domainToUnicode(name))
}

/** All forms that a login name may have been taken in, the one that its spellings share first. */
export const loginNameForms = (name: string): readonly string[] => [
  ...new Set([...loginNameKeys(name), ...foldedForms(name)]),
]

/**
 * The forms that keep a login name unique. Its spellings share the first one; earlier versions,
 * which may run beside this one, take and look for one of the others where there is a sigma. The
 * domain is compared as DNS compares it.
 */
export function loginNameKeys(name: string): readonly string[] {
  const folded = foldEmail(name)
  const at = folded.lastIndexOf("@")
  const end = at < 0 ? folded.length : at
  return sigmaForms(folded.slice(0, end)).map((local) => local + folded.slice(end))
}

/**
 * An email address as mail servers without SMTPUTF8 accept it: the domain as DNS has it (RFC 5890
 * A-labels). What has no such form stays as it is.
 */
export function asciiEmail(address: string): string {
  const at = address.lastIndexOf("@")
  const domain = address.slice(at + 1)
  if (at < 0 || isAscii(domain)) return address
  return address.slice(0, at + 1) + (asciiDomain(domain) || domain)
}

/** All forms that earlier versions may have compared an address in; the present one first. */
export function foldedForms(address: string): readonly string[] {
  const folded = foldExceptSigma(address)
  // Nearly all have one.
  if (isAscii(folded.slice(folded.lastIndexOf("@") + 1))) return [folded]
  return [...new Set([foldEmail(address), folded, foldExceptSigma(asciiEmail(folded))])]
}

const asciiDomain = (domain: string): string =>
  delimiter.test(domain) ? "" : domainToASCII(domain)

/** Whether a domain has but one spelling. */
const isAscii = (domain: string): boolean =>
  /^[!-~]*$/.test(domain) && !/(?:^|\.)xn--/i.test(domain)
