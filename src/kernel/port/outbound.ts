import type { Directories } from "./directory.ts"
import type { SendMail } from "./mail.ts"

/** A request to a URL that users configured. */
export type OutboundRequest = {
  readonly url: string
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Timeout for the whole request; at most 270 seconds, 5 by default. */
  readonly timeoutMs?: number
  /** Maximum size of the response in bytes; 65,536 by default. */
  readonly sizeMax?: number
  /** Response headers to return, in lower case. */
  readonly told?: readonly string[]
  /**
   * Whether an administrator of the instance has allowed this address in a private network. It
   * allows neither link-local addresses nor the listeners of this process.
   */
  readonly isPrivate?: boolean
}

export type OutboundReply = {
  readonly status: number
  readonly body: string
  /** The Cache-Control header, if present. */
  readonly cacheControl?: string
  /** The requested response headers that are present. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Sends a request to an external service. Rejects with a plain message for forbidden addresses,
 * timeouts and oversized responses.
 */
export type Outbound = (request: OutboundRequest) => Promise<OutboundReply>

/**
 * Where an address leads: to a host that may be called, into a private network that an
 * administrator can allow, to a forbidden address, or to an unknown host.
 */
export type Reach = "open" | "private_network" | "forbidden" | "unknown_host"

/** External services for calls: protected HTTP, mail, directories, DNS records and files. */
export type Outside = {
  readonly send: Outbound
  /** Where a URL currently leads; sends nothing there. */
  readonly reach: (url: string) => Promise<Reach>
  /** Sends a mail to the configured SMTP server. */
  readonly mail: SendMail
  /** Queries the configured LDAP servers. */
  readonly directories: Directories
  /** The TXT records of a name; empty if there are none. Rejects if no DNS server answers. */
  readonly txtRecords: (name: string) => Promise<readonly string[]>
  /** The files that callers can name; absent if no folder is configured for them. */
  readonly files?: InstanceFiles | undefined
}

/** The files of an instance by name; each function rejects with a plain message on failure. */
export type InstanceFiles = {
  /** Reads UTF-8; rejects files larger than `most` bytes. */
  readonly read: (instance: string, name: string, maxBytes: number) => Promise<string>
  /** Rejects if the file exists. */
  readonly write: (instance: string, name: string, text: string) => Promise<void>
}
