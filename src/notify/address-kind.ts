import { isIP } from "node:net"
import { isLoopback, within } from "../kernel/net/address.ts"

/** RFC 6890 and its registry: what is no single host's place on the internet. */
const isSpecial = within(
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
