import { type Cx, readProgress } from "../../store/index.ts"
import { type Kind, message } from "./model.ts"

/** The name of the reactor that creates messages. */
export const writerName = "messages"

/** Events that cause a message to their user, with its kind. */
export const messageKinds = {
  "user.human.email.code.added": "verify_email",
  "user.human.phone.code.added": "verify_phone",
  "user.human.invite.code.added": "invite_user",
  "user.human.password.code.added": "password_reset",
  "user.human.password.changed": "password_change",
  "user.human.passwordless.initialization.code.added": "passwordless_registration",
  "user.domain.claimed": "domain_claimed",
  "user.human.mfa.otp.verified": "factor_added",
  "user.human.mfa.otp.email.added": "factor_added",
  "user.human.mfa.otp.sms.added": "factor_added",
  "user.human.mfa.u2f.token.verified": "factor_added",
  "user.human.passwordless.token.verified": "factor_added",
  "user.human.mfa.recoverycode.added": "factor_added",
  "user.human.externalidp.added": "factor_added",
  "user.human.mfa.otp.removed": "factor_removed",
  "user.human.mfa.otp.email.removed": "factor_removed",
  "user.human.mfa.otp.sms.removed": "factor_removed",
  "user.human.mfa.u2f.token.removed": "factor_removed",
  "user.human.passwordless.token.removed": "factor_removed",
  "user.human.mfa.recoverycode.removed": "factor_removed",
  "user.human.externalidp.removed": "factor_removed",
  "user.human.phone.changed": "phone_changed",
  "user.human.phone.removed": "phone_changed",
} as const satisfies Readonly<Record<string, Kind>>

const causeTypes = Object.keys(messageKinds)

const waitMs = 2000
const pollMs = 25
const causesMax = 500

/**
 * Waits until the messages for earlier causes are in the outbox, for at most two seconds: the
 * reactor that creates them can lag or run on another node.
 */
export async function waitForMessages(cx: Cx): Promise<void> {
  const { position } = readProgress(cx.store, writerName)
  const { events } = await cx.store.log.find(position, causesMax, causeTypes)
  const until = cx.clock.now() + waitMs
  for (let left = events.filter((event) => isWaiting(cx, event)); left.length > 0; ) {
    if (cx.clock.now() >= until) return
    await new Promise<void>((resolve) => cx.clock.after(pollMs, resolve))
    left = left.filter((event) => isWaiting(cx, event))
  }
}

/** The ID of a message is the log position of its cause; many causes create no message. */
const isWaiting = (
  cx: Cx,
  { instance, position }: { readonly instance: string; readonly position: number },
): boolean =>
  instance === cx.instance &&
  readProgress(cx.store, writerName).position < position &&
  cx.store.state(cx, message, String(position)).status === "absent"
