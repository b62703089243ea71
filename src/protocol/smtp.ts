import { isIP } from "node:net"

/**
 * RFC 5321 §4.1.1.1: what a client calls itself: the host of the public address, which recipients
 * can look up. Undefined where that is a name of a local network only. The name of this machine may
 * be a container's.
 */
export function clientNameOf(publicUrl: string): string | undefined {
  const host = new URL(publicUrl).hostname.replace(/^\[|\]$/g, "")
  if (isIP(host) !== 0) return addressLiteral(host)
  return host.includes(".") ? host : undefined
}

/** RFC 5321 §4.1.3. */
export const addressLiteral = (address: string): string =>
  isIP(address) === 6 ? `[IPv6:${address}]` : `[${address}]`
