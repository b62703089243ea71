import type { MailCause } from "./mail-cause.ts"

/** An SMTP server and its connection settings. `secret` is a password or an OAuth access token. */
export type MailServer = {
  readonly host: string
  /** The instance it belongs to; the operator can allow it a server that has no public address. */
  readonly instance?: string
  /** The name of the client in EHLO; absent for the address of this machine. */
  readonly clientName?: string
  readonly port: number
  /** Whether TLS starts with the connection, regardless of `tls`. */
  readonly implicitTls?: boolean
  /** PEM certificate authorities for its certificate; absent for the system's. */
  readonly authorities?: string
  /** Whether it may be in a private network. */
  readonly isPrivate?: boolean
  /** Whether the connection must be encrypted before authentication. */
  readonly tls: boolean
  /** Whether this is a test: nothing is sent after authentication. */
  readonly isTrial?: true
  readonly auth:
    | { readonly kind: "none" }
    | { readonly kind: "plain" | "xoauth2"; readonly user: string; readonly secret: string }
}

/** A mail to a single recipient, in text and HTML. */
export type Mail = {
  /**
   * Without brackets (RFC 5322 §3.6.4); the same for each attempt, so that duplicates are
   * recognized.
   */
  readonly messageId: string
  readonly from: { readonly name: string; readonly address: string }
  readonly to: string
  /** Empty if replies go to the sender. */
  readonly replyTo: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** A completed step of the delivery, in this order; `detail` describes its result. */
export type MailStep = {
  readonly name: "resolved" | "connected" | "secured" | "authenticated" | "accepted"
  readonly detail: string
}

/**
 * The result of a delivery attempt: `lasting` failures don't go away with a retry, all others may.
 * `reason` is a plain message without secrets.
 */
export type DeliveryResult =
  | { readonly done: true; readonly steps: readonly MailStep[] }
  | {
      readonly done: false
      readonly lasting: boolean
      /** Whether the failure affects only this message, or all messages of the provider. */
      readonly concerns: "message" | "provider"
      /** How long the provider asks to wait before a retry of this message. */
      readonly retryAfterMs?: number
      readonly reason: string
      readonly cause?: MailCause | undefined
      readonly steps: readonly MailStep[]
    }

/** Sends a mail to a server; never rejects because of the server. */
export type SendMail = (server: MailServer, mail: Mail) => Promise<DeliveryResult>
