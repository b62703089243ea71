import { isIP } from "node:net"
import type { From } from "../kernel/context.ts"

/** Where a request came from, as far as it is stored; texts are empty where nothing is known. */
export type Sender = {
  /** IPv4 or IPv6, seen through the trusted proxies. */
  readonly address: string
  /** The User-Agent header: printable ASCII, at most 256 characters. Anybody can send any. */
  readonly userAgent: string
}

const userAgentMax = 256

/** What is stored of the sender of a request. */
export const senderOf = ({ address, userAgent }: From): Sender => ({
  address: isIP(address) ? address : "",
  userAgent: userAgent.replace(/[^\x20-\x7e]/g, "").slice(0, userAgentMax),
})

export const unknownSender: Sender = { address: "", userAgent: "" }
