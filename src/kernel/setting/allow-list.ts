import { parseRange, type Range } from "../net/address.ts"

/** A non-public address that outbound requests may reach. */
export type AllowedOutbound = Range | { readonly host: string }

/** Parses "10.1.0.0/16", "::1" or a host name; undefined for anything else. */
export function parseAllowedOutbound(text: string): AllowedOutbound | undefined {
  const range = parseRange(text)
  if (range) return range
  const host = text.toLowerCase()
  const isName = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_-]+)*$/.test(host)
  // The last label of a name is never a number (RFC 1123 §2.1); "10.0.0.256" is a typo.
  return isName && !/(^|\.)\d+$/.test(host) ? { host } : undefined
}

/** A mail server in the operator's network that one instance may use. */
export type AllowedMailServer = {
  readonly instance: string
  readonly host: string
  readonly port: number
}

/** Parses "228647202965159937=mail.lan:587"; undefined for anything else. */
export function parseAllowedMailServer(text: string): AllowedMailServer | undefined {
  const [, instance, v6, name, digits] =
    /^([^=\s]{1,200})=(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]{1,253})):(\d{1,5})$/i.exec(text) ?? []
  const host = (v6 ?? name)?.toLowerCase()
  const port = Number(digits)
  if (instance === undefined || host === undefined || port < 1 || port > 65_535) return undefined
  return { instance, host, port }
}
