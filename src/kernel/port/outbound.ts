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
