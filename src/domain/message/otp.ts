import type { Transaction } from "../../store/index.ts"
import { countRequest } from "../lockout/index.ts"
import type { Channel } from "../message-provider/index.ts"
import { addMessage } from "./add.ts"
import { sealCode } from "./content.ts"

/** A one-time code for a user, as created by `newCode` of the policies. */
export type OneTimeCode = {
  readonly userId: string
  readonly channel: Channel
  /** The plain code; the message stores it sealed. */
  readonly code: string
  /** When it expires, in ms since the epoch. */
  readonly expires: number
  /** The value of {{.SessionID}} in the template; empty if there is no session yet. */
  readonly sessionId: string
  /** The link in the email; without it, the user enters the code. */
  readonly urlTemplate?: string | undefined
}

/**
 * Queues the message with a one-time code in the same step that creates the code. The caller stores
 * the hash of the code. Throws if the user received ten codes within an hour.
 */
export function queueOtp(tx: Transaction, otp: OneTimeCode): void {
  const { userId, channel, code, expires, sessionId, urlTemplate = "" } = otp
  countRequest(tx, userId, `otp_${channel}`)
  const kind = `verify_${channel}_otp` as const
  const cause = { kind, channel, userId, codeExpires: expires, sessionId, urlTemplate }
  addMessage(tx, tx.ids.next(), cause, { sealed: sealCode(tx, cause, code) })
}

/** Queues the email with a sign-in link and code in the same step as its count. */
export function queueMagicLink(
  tx: Transaction,
  link: Pick<OneTimeCode, "userId" | "code" | "expires"> & {
    readonly urlTemplate: string
    /** The value of {{.SessionID}} in the template, if a session waits for the link. */
    readonly sessionId?: string
  },
): void {
  const { userId, code, expires: codeExpires, urlTemplate, sessionId = "" } = link
  const plain = { kind: "magic_link", channel: "email" } as const
  const cause = { ...plain, userId, codeExpires, urlTemplate, sessionId }
  addMessage(tx, tx.ids.next(), cause, { sealed: sealCode(tx, cause, code) })
}

/** Queues the email that notifies an administrator of a sign-up that waits for approval. */
export function queueSignUpWaiting(tx: Transaction, userId: string): void {
  const cause = { kind: "sign_up_waiting", channel: "email", userId, codeExpires: 0 } as const
  addMessage(tx, tx.ids.next(), { ...cause, urlTemplate: "" })
}

/** Queues the email that notifies a user of a sign-in from a new device. */
export function queueNewDevice(
  tx: Transaction,
  { userId, place }: { readonly userId: string; readonly place: string },
): void {
  const cause = { kind: "new_device", channel: "email", userId, codeExpires: 0 } as const
  addMessage(tx, tx.ids.next(), { ...cause, urlTemplate: "" }, { place })
}
