import { isIP } from "node:net"

/**
 * RFC 5321 §4.1.1.1: the client's name in EHLO: the host of the public URL, which recipients can
 * look up. Undefined if that is a local name. The name of this machine may be that of a container.
 */
export function ehloNameOf(publicUrl: string): string | undefined {
  const host = new URL(publicUrl).hostname.replace(/^\[|\]$/g, "")
  if (isIP(host) !== 0) return addressLiteral(host)
  return host.includes(".") ? host : undefined
}

/** RFC 5321 §4.1.3. */
export const addressLiteral = (address: string): string =>
  isIP(address) === 6 ? `[IPv6:${address}]` : `[${address}]`
