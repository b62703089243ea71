import type { MailCause } from "./mail-cause.ts"

/** An SMTP server, and how it is spoken to. `secret` is a password, or an OAuth access token. */
export type MailServer = {
  readonly host: string
  /** Whose it is; the operator may allow it a server that is no host on the internet. */
  readonly instance?: string
  /** What the client calls itself in EHLO; absent for the address of this machine. */
  readonly clientName?: string
  readonly port: number
  /** Whether it is spoken to over TLS from the first byte, whatever `tls` says. */
  readonly implicitTls?: boolean
  /** PEM: the authorities that its certificate may come from; absent for those of the system. */
  readonly authorities?: string
  /** Whether it may be in a private network. */
  readonly isPrivate?: boolean
  /** Whether the connection must be encrypted before anything is said on it. */
  readonly tls: boolean
  /** Whether it is only tried: then nothing is sent once it has let us in. */
  readonly isTrial?: true
  readonly auth:
    | { readonly kind: "none" }
    | { readonly kind: "plain" | "xoauth2"; readonly user: string; readonly secret: string }
}

/** One mail to one person, in both forms. Nobody writes to several at once. */
export type Mail = {
  /** Without brackets (RFC 5322 §3.6.4); the same for each try, so that a repetition is told. */
  readonly messageId: string
  readonly from: { readonly name: string; readonly address: string }
  readonly to: string
  /** Empty where answers go to the sender. */
  readonly replyTo: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** What a mail has got through, in this order; `detail` is what was found there. */
export type MailStep = {
  readonly name: "resolved" | "connected" | "secured" | "authenticated" | "accepted"
  readonly detail: string
}

/**
 * What became of a try: an address that the server refuses for good is refused again tomorrow, all
 * else may pass. `reason` is in plain words, without a secret.
 */
export type Delivery =
  | { readonly done: true; readonly steps: readonly MailStep[] }
  | {
      readonly done: false
      readonly lasting: boolean
      /** Whether other messages would fare better, or none does by this provider. */
      readonly concerns: "message" | "provider"
      /** How long the provider requests to be left alone with this message. */
      readonly retryAfterMs?: number
      readonly reason: string
      readonly cause?: MailCause | undefined
      readonly steps: readonly MailStep[]
    }

/** Hands a mail to a server; it never rejects for what the server does or fails to do. */
export type SendMail = (server: MailServer, mail: Mail) => Promise<Delivery>
