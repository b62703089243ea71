import { namesIn } from "../form/index.ts"

/** Placeholders about the recipient. */
const userPlaceholders = [
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
]

const otpPlaceholders = [...userPlaceholders, "OTP", "Expiry", "Domain"]
const codePlaceholders = [...userPlaceholders, "Code"]

const domainPlaceholders = [...userPlaceholders, "Domain"]

/** The kinds of messages and their placeholders. */
export const placeholdersByKind = {
  invite_user: [...codePlaceholders, "ApplicationName"],
  verify_email: codePlaceholders,
  password_reset: codePlaceholders,
  password_change: userPlaceholders,
  init: codePlaceholders,
  verify_phone: codePlaceholders,
  verify_email_otp: otpPlaceholders,
  verify_sms_otp: otpPlaceholders,
  magic_link: otpPlaceholders,
  domain_claimed: [...domainPlaceholders, "TempUsername"],
  passwordless_registration: userPlaceholders,
  account_exists: domainPlaceholders,
  new_device: [...domainPlaceholders, "Place"],
  factor_added: userPlaceholders,
  factor_removed: userPlaceholders,
  email_changed: userPlaceholders,
  email_superseded: domainPlaceholders,
  phone_changed: userPlaceholders,
  owner_recovered: [...domainPlaceholders, "Place"],
  sign_up_waiting: domainPlaceholders,
} as const

export type KindName = keyof typeof placeholdersByKind

export const kindNames = namesIn(placeholdersByKind)

/** The parts of a message, from the subject to the footer. */
export const messageFieldNames = [
  ...(["subject", "preHeader", "title", "greeting", "text", "buttonText", "footerText"] as const),
] as const

export type FieldName = (typeof messageFieldNames)[number]

/** SMS messages only have a text. */
export const fieldsOfKind = (kind: KindName): readonly FieldName[] =>
  kind === "verify_phone" || kind === "verify_sms_otp" ? ["text"] : messageFieldNames

/** The first unknown placeholder in a text, as typed, or undefined. */
export function findUnknownPlaceholder(kind: KindName, text: string): string | undefined {
  const placeholders: readonly string[] = placeholdersByKind[kind]
  const found = [...text.matchAll(/\{\{\s*\.(\w+)\s*\}\}/g)].find(
    ([, name = ""]) => !placeholders.includes(name),
  )
  return found?.[0]
}

/** A text with sample values in place of its placeholders. */
export const fillPlaceholders = (text: string, samples: Readonly<Record<string, string>>): string =>
  text.replace(/\{\{\s*\.(\w+)\s*\}\}/g, (whole, name: string) => samples[name] ?? whole)

/** Sample values for previews. */
export const samples: Readonly<Record<string, string>> = {
  DisplayName: "Ada Lovelace",
  FirstName: "Ada",
  LastName: "Lovelace",
  NickName: "Ada",
  UserName: "ada",
  PreferredLoginName: "ada@example.com",
  LastEmail: "ada@example.com",
  VerifiedEmail: "ada@example.com",
  LastPhone: "+41791234567",
  VerifiedPhone: "+41791234567",
  Code: "K7QM2P",
  OTP: "482913",
  Expiry: "5 min",
  Place: "Firefox on Linux, 198.51.100.7",
  Domain: "example.com",
  TempUsername: "ada@other.example",
  ApplicationName: "Acme",
}
