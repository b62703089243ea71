import type { Transaction } from "../../store/index.ts"
import { countRequest } from "../lockout/index.ts"
import type { Channel } from "../message-provider/index.ts"
import { addMessage } from "./add.ts"
import { sealedFor } from "./content.ts"

/** A one-time code that is to reach a person, as `newCode` of the policies makes it. */
export type Otp = {
  readonly userId: string
  readonly channel: Channel
  /** In the plain; the message keeps it sealed. */
  readonly code: string
  /** Until when it is good, ms UTC. */
  readonly expires: number
  /** What it lets in to: {{.SessionID}} of the template; empty where there is none yet. */
  readonly sessionId: string
  /** The link that a mail carries; without one there is none, and the code is typed. */
  readonly urlTemplate?: string | undefined
}

/**
 * Queues the message that carries a one-time code, in the same step as what made the code. Whoever
 * made it keeps what it is checked against. Faults where the person was sent ten within an hour.
 */
export function queueOtp(tx: Transaction, otp: Otp): void {
  const { userId, channel, code, expires, sessionId, urlTemplate = "" } = otp
  countRequest(tx, userId, `otp_${channel}`)
  const kind = `verify_${channel}_otp` as const
  const cause = { kind, channel, userId, codeExpires: expires, sessionId, urlTemplate }
  addMessage(tx, tx.ids.next(), cause, { sealed: sealedFor(tx, cause, code) })
}

/** Queues the mail that carries a link to sign in, and its code, in the same step as its count. */
export function queueMagicLink(
  tx: Transaction,
  link: Pick<Otp, "userId" | "code" | "expires"> & {
    readonly urlTemplate: string
    /** {{.SessionID}} of the template, where a session waits for it. */
    readonly sessionId?: string
  },
): void {
  const { userId, code, expires: codeExpires, urlTemplate, sessionId = "" } = link
  const plain = { kind: "magic_link", channel: "email" } as const
  const cause = { ...plain, userId, codeExpires, urlTemplate, sessionId }
  addMessage(tx, tx.ids.next(), cause, { sealed: sealedFor(tx, cause, code) })
}

/** Queues the mail that tells an administrator that a sign-up waits for approval. */
export function queueSignUpWaiting(tx: Transaction, userId: string): void {
  const cause = { kind: "sign_up_waiting", channel: "email", userId, codeExpires: 0 } as const
  addMessage(tx, tx.ids.next(), { ...cause, urlTemplate: "" })
}

/** Queues the mail that tells somebody from where their account was signed in to. */
export function queueNewDevice(
  tx: Transaction,
  { userId, place }: { readonly userId: string; readonly place: string },
): void {
  const cause = { kind: "new_device", channel: "email", userId, codeExpires: 0 } as const
  addMessage(tx, tx.ids.next(), { ...cause, urlTemplate: "" }, { place })
}
