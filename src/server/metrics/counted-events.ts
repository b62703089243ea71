/**
 * The events of successful and failed authentication checks: by type, the method and the outcome. A
 * second factor is a separate check.
 */
export const authenticationChecks: ReadonlyMap<string, readonly [method: string, outcome: string]> =
  new Map([
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

/** The events of message delivery. */
export const deliveryStatuses: ReadonlyMap<string, string> = new Map([
  ["message.added", "queued"],
  ["message.delayed", "delayed"],
  ["message.sent", "sent"],
  ["message.failed", "failed"],
])

/** The delivery status of an event; undefined for others and for obsolete messages. */
export const deliveryStatusOf = ({ type, data }: CountedEvent): string | undefined =>
  "isObsolete" in data ? undefined : deliveryStatuses.get(type)

type CountedEvent = { readonly type: string; readonly data: object }
