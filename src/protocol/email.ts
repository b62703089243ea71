import { domainToASCII, domainToUnicode } from "node:url"
import { foldExceptSigma, sigmaForms } from "../kernel/text/name.ts"

/** Characters that end the domain, or that domain parsers decode. */
const delimiter = /[\s/?#:@\\[\]%]/

/**
 * The common form for comparing email addresses and similar login names: folded, with the domain in
 * Unicode (RFC 5890 U-labels), so that max@müller.test and max@xn--mller-kva.test are equal.
 * Ownership of addresses must not be decided by any other form: mail servers and DNS may treat "ς"
 * and "σ" as different.
 */
export function foldEmail(address: string): string {
  const folded = foldExceptSigma(address)
  const at = folded.lastIndexOf("@")
  const domain = folded.slice(at + 1)
  if (at < 0 || hasOneSpelling(domain)) return folded
  const name = toAsciiDomain(domain)
  return name === "" ? folded : foldExceptSigma(folded.slice(0, at + 1) + domainToUnicode(name))
}

/** All forms in which a login name may be claimed, the common form first. */
export const loginNameForms = (name: string): readonly string[] => [
  ...new Set([...loginNameKeys(name), ...listFoldedForms(name)]),
]

/**
 * The forms that keep a login name unique. All spellings share the first one; earlier versions,
 * which may run at the same time, use one of the others for names with a sigma. The domain is
 * compared as DNS compares it.
 */
export function loginNameKeys(name: string): readonly string[] {
  const folded = foldEmail(name)
  const at = folded.lastIndexOf("@")
  const end = at < 0 ? folded.length : at
  return sigmaForms(folded.slice(0, end)).map((local) => local + folded.slice(end))
}

/**
 * An email address for mail servers without SMTPUTF8: the domain in ASCII (RFC 5890 A-labels).
 * Returned unchanged if it has no ASCII form.
 */
export function toAsciiEmail(address: string): string {
  const at = address.lastIndexOf("@")
  const domain = address.slice(at + 1)
  if (at < 0 || hasOneSpelling(domain)) return address
  return address.slice(0, at + 1) + (toAsciiDomain(domain) || domain)
}

/** All forms in which earlier versions may have compared an address; the current one first. */
export function listFoldedForms(address: string): readonly string[] {
  const folded = foldExceptSigma(address)
  // Nearly all addresses have only one.
  if (hasOneSpelling(folded.slice(folded.lastIndexOf("@") + 1))) return [folded]
  return [...new Set([foldEmail(address), folded, foldExceptSigma(toAsciiEmail(folded))])]
}

const toAsciiDomain = (domain: string): string =>
  delimiter.test(domain) ? "" : domainToASCII(domain)

/** Whether a domain has only one spelling. */
const hasOneSpelling = (domain: string): boolean =>
  /^[!-~]*$/.test(domain) && !/(?:^|\.)xn--/i.test(domain)
