/**
 * The events that say how somebody proved who they are, or tried to: by type, the method and how it
 * came out. A second factor is a check of its own.
 */
export const checks: ReadonlyMap<string, readonly [method: string, outcome: string]> = new Map([
  ["session.password.checked", ["password", "succeeded"]],
  ["session.intent.checked", ["provider", "succeeded"]],
  ["session.magic_link.checked", ["magic_link", "succeeded"]],
  ["session.webAuthN.checked", ["passkey", "succeeded"]],
  ["session.totp.checked", ["totp", "succeeded"]],
  ["session.otp.email.checked", ["otp_email", "succeeded"]],
  ["session.otp.sms.checked", ["otp_sms", "succeeded"]],
  ["session.recovery_code.checked", ["recovery_code", "succeeded"]],
  ["user.human.password.check.failed", ["password", "failed"]],
  ["idpintent.failed", ["provider", "failed"]],
  ["user.human.magic_link.check.failed", ["magic_link", "failed"]],
  ["user.human.passwordless.token.check.failed", ["passkey", "failed"]],
  ["user.human.mfa.u2f.token.check.failed", ["passkey", "failed"]],
  ["user.human.mfa.otp.check.failed", ["totp", "failed"]],
  ["user.human.mfa.otp.email.check.failed", ["otp_email", "failed"]],
  ["user.human.mfa.otp.sms.check.failed", ["otp_sms", "failed"]],
  ["user.human.mfa.recoverycode.check.failed", ["recovery_code", "failed"]],
])

/** The events that say what became of a message. */
export const deliveries: ReadonlyMap<string, string> = new Map([
  ["message.added", "queued"],
  ["message.delayed", "delayed"],
  ["message.sent", "sent"],
  ["message.failed", "failed"],
])

/** What became of a message by an event; undefined for others, and for one that nobody needs. */
export const deliveryOf = ({ type, data }: CountedEvent): string | undefined =>
  "isObsolete" in data ? undefined : deliveries.get(type)

type CountedEvent = { readonly type: string; readonly data: object }
