/** The parts of a message, with the names of the API; an SMS has only a text. */
export const messageFields = [
  "title",
  "preHeader",
  "subject",
  "greeting",
  "text",
  "buttonText",
  "footerText",
] as const

export type MessageField = (typeof messageFields)[number]

/** Placeholders for the recipient, in all kinds. */
const person = [
  "DisplayName",
  "FirstName",
  "LastName",
  "NickName",
  "UserName",
  "PreferredLoginName",
  "LastEmail",
  "VerifiedEmail",
  "LastPhone",
  "VerifiedPhone",
] as const

/**
 * The kinds of messages and the placeholders of their texts: {{.Code}}. `Domain` is the host name
 * of the sign-in or the claimed domain; `ApplicationName` is the inviting organization if no
 * application is named.
 */
export const messageKinds = {
  init: [...person, "Code"],
  password_reset: [...person, "Code"],
  verify_email: [...person, "Code"],
  verify_phone: [...person, "Code"],
  verify_sms_otp: [...person, "OTP", "Expiry", "Domain"],
  verify_email_otp: [...person, "OTP", "Expiry", "Domain"],
  domain_claimed: [...person, "Domain", "TempUsername"],
  passwordless_registration: person,
  password_change: person,
  invite_user: [...person, "Code", "ApplicationName"],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** Kinds without operations in the original API; Latchkey has its own. */
export const additionalKinds = {
  account_exists: [...person, "Domain"],
  new_device: [...person, "Domain", "Place"],
  magic_link: [...person, "OTP", "Expiry", "Domain"],
  factor_added: person,
  factor_removed: person,
  email_changed: person,
  email_superseded: [...person, "Domain"],
  phone_changed: person,
  owner_recovered: [...person, "Domain", "Place"],
  sign_up_waiting: [...person, "Domain"],
} as const satisfies Readonly<Record<string, readonly string[]>>

export const allMessageKinds = { ...messageKinds, ...additionalKinds } as const

export type MessageKind = keyof typeof allMessageKinds

export const isMessageKind = (name: string): name is MessageKind =>
  Object.hasOwn(allMessageKinds, name)

type Placeholder<Kind extends MessageKind> = (typeof allMessageKinds)[Kind][number]

/** The placeholder values of a message kind: texts, and durations in seconds. */
export type MessageValues<Kind extends MessageKind> = {
  readonly [Name in Placeholder<Kind>]: Name extends "Expiry" ? number : string
}
