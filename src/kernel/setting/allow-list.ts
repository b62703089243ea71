import { type Range, rangeOf } from "../net/address.ts"

/** Where requests may go although it is nobody's place on the internet. */
export type OutboundAllowed = Range | { readonly host: string }

/** Reads "10.1.0.0/16", "::1" or a host name; undefined for anything else. */
export function outboundAllowedOf(text: string): OutboundAllowed | undefined {
  const range = rangeOf(text)
  if (range) return range
  const host = text.toLowerCase()
  const isName = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_-]+)*$/.test(host)
  // The last label of a name is never a number (RFC 1123 §2.1); "10.0.0.256" is a slip.
  return isName && !/(^|\.)\d+$/.test(host) ? { host } : undefined
}

/** A mail server in a network of the operator's that one instance may use. */
export type MailAllowed = {
  readonly instance: string
  readonly host: string
  readonly port: number
}

/** Reads "228647202965159937=mail.lan:587"; undefined for anything else. */
export function mailAllowedOf(text: string): MailAllowed | undefined {
  const [, instance, v6, name, digits] =
    /^([^=\s]{1,200})=(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]{1,253})):(\d{1,5})$/i.exec(text) ?? []
  const host = (v6 ?? name)?.toLowerCase()
  const port = Number(digits)
  if (instance === undefined || host === undefined || port < 1 || port > 65_535) return undefined
  return { instance, host, port }
}
