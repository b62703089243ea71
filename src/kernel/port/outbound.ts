import { isIP } from "node:net"
import { isLoopback, type Range, rangeOf, within } from "../net/address.ts"
import type { Directories } from "./directory.ts"
import type { SendMail } from "./mail.ts"

/** What is sent to an address that somebody else named. */
export type OutboundRequest = {
  readonly url: string
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** How long all of it may take; at most 270 seconds, 5 unless said. */
  readonly timeoutMs?: number
  /** The largest answer that is read, in bytes; 65,536 unless said. */
  readonly sizeMax?: number
  /** Headers of the answer that are wanted, in small letters. */
  readonly told?: readonly string[]
  /**
   * Whether an administrator of the instance has allowed this address in a private network. It
   * opens neither link-local addresses nor what this process listens on.
   */
  readonly isPrivate?: boolean
}

export type OutboundReply = {
  readonly status: number
  readonly body: string
  /** Its Cache-Control; absent where it has none. */
  readonly cacheControl?: string
  /** Those headers that were wanted and came. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Sends a request out of the process. Rejects with a reason in plain words: for addresses that are
 * not to be reached, for what takes too long, and for answers that are too large.
 */
export type Outbound = (request: OutboundRequest) => Promise<OutboundReply>

/**
 * Where an address leads: to a host that may be called as it is, into a private network where an
 * administrator may allow it, to where it never may, or nowhere that is known.
 */
export type Reach = "open" | "private_network" | "forbidden" | "unknown_host"

/** What calls may ask of the world outside: the guarded way out, and the records of names. */
export type Outside = {
  readonly send: Outbound
  /** Where an address of the web leads now; nothing is sent there. */
  readonly reach: (url: string) => Promise<Reach>
  /** Hands a mail to the SMTP server that somebody entered. */
  readonly mail: SendMail
  /** Asks LDAP servers that somebody entered. */
  readonly directories: Directories
  /** The TXT records of a name; none where nobody knows it. Rejects where nobody answers. */
  readonly texts: (name: string) => Promise<readonly string[]>
  /** The files that callers may name; absent where the configuration has no folder for them. */
  readonly files?: Files | undefined
}

/** Files of an instance by their names; each faults in plain words where it can't. */
export type Files = {
  /** UTF-8; refuses what has more bytes than `most`. */
  readonly read: (instance: string, name: string, most: number) => Promise<string>
  /** Refuses to write over anything. */
  readonly write: (instance: string, name: string, text: string) => Promise<void>
}

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

/** RFC 6890 and its registry: what is no single host's place on the internet. */
const isSpecial = within(
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"],
  ...["172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24"],
  ...["192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15"],
  ...["198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
  ...["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"],
)

/** RFC 1918 and RFC 4193: addresses of a private network, without those of cloud metadata. */
export function isPrivateNetwork(address: string): boolean {
  if (isIP(address) === 4) return isPrivateV4(address)
  return isUniqueLocal(address) && !isMetadata(address)
}

/**
 * Addresses in a network of one's own: those of private networks, of overlay networks (RFC 6598)
 * and of this machine. Link-local addresses and those of cloud metadata are none.
 */
export const isInternalAddress = (address: string): boolean =>
  isPrivateNetwork(address) ||
  isLoopback(address) ||
  // Only as IPv4: IPv6 that maps one is another spelling of what may be an address of our own.
  (isIP(address) === 4 && isShared(address) && !isSharedMetadata(address))

const isShared = within("100.64.0.0/10")
const isSharedMetadata = within("100.100.100.200/32")

const isPrivateV4 = within("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
const isUniqueLocal = within("fc00::/7")
const isMetadata = within("fd00:ec2::/32")

const isGlobalUnicast = within("2000::/3")

/**
 * Whether an address is some host's on the internet. IPv6 has one block for that; mapped and
 * translated IPv4, local and link-local addresses lie outside of it.
 */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 0 || isSpecial(address)) return false
  return version === 4 || isGlobalUnicast(address)
}
