/** What a message is made of, as the interface names it; a text message has a text alone. */
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

/** What can be said of whoever a message goes to, in every kind. */
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
 * The kinds of messages, and what stands for a value in their texts: {{.Code}}.
 * `Domain` is the host name that is signed in to, or the domain that was claimed; `ApplicationName`
 * that of whoever invites, where no application is named.
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

/** Kinds that the interface has no operations for; ours name them. */
export const ownKinds = {
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

export const allMessageKinds = { ...messageKinds, ...ownKinds } as const

export type MessageKind = keyof typeof allMessageKinds

export const isMessageKind = (name: string): name is MessageKind =>
  Object.hasOwn(allMessageKinds, name)

type Placeholder<Kind extends MessageKind> = (typeof allMessageKinds)[Kind][number]

/** What a message of a kind is filled with: texts as they are, and a time in seconds. */
export type MessageValues<Kind extends MessageKind> = {
  readonly [Name in Placeholder<Kind>]: Name extends "Expiry" ? number : string
}
