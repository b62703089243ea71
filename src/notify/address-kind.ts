import { isIP } from "node:net"
import { inRanges, isLoopback } from "../kernel/net/address.ts"

/** RFC 6890 and its registry: addresses that are not unicast addresses of hosts on the internet. */
const isSpecial = inRanges(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20",
)

/** RFC 1918 and RFC 4193: private network addresses except cloud metadata. */
export function isPrivateNetwork(address: string): boolean {
  if (isIP(address) === 4) return isPrivateV4(address)
  return isUniqueLocal(address) && !isMetadata(address)
}

/**
 * Internal addresses: private networks, overlay networks (RFC 6598) and this machine. Excludes
 * link-local addresses and cloud metadata.
 */
export const isInternalAddress = (address: string): boolean =>
  isPrivateNetwork(address) ||
  isLoopback(address) ||
  // Only as IPv4: an IPv4-mapped IPv6 address could be one of our own.
  (isIP(address) === 4 && isShared(address) && !isSharedMetadata(address))

const isShared = inRanges("100.64.0.0/10")
const isSharedMetadata = inRanges("100.100.100.200/32")

const isPrivateV4 = inRanges("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
const isUniqueLocal = inRanges("fc00::/7")
const isMetadata = inRanges("fd00:ec2::/32")

const isGlobalUnicast = inRanges("2000::/3")

/**
 * Whether an address is a public internet address. IPv6 has one block for these; mapped,
 * translated, local and link-local addresses are outside of it.
 */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 0 || isSpecial(address)) return false
  return version === 4 || isGlobalUnicast(address)
}
