import { isIP } from "node:net"
import type { RequestSource } from "../kernel/context.ts"

/** The origin of a request as stored; texts are empty if unknown. */
export type Sender = {
  /** IPv4 or IPv6, resolved through trusted proxies. */
  readonly address: string
  /** The User-Agent header: printable ASCII, at most 256 characters. It can be forged. */
  readonly userAgent: string
}

const maxUserAgentLength = 256

/** The stored form of a request's sender. */
export const senderOf = ({ address, userAgent }: RequestSource): Sender => ({
  address: isIP(address) ? address : "",
  userAgent: userAgent.replace(/[^\x20-\x7e]/g, "").slice(0, maxUserAgentLength),
})

export const unknownSender: Sender = { address: "", userAgent: "" }
