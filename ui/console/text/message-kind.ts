import { namesIn } from "../form/index.ts"

/** What can be said of whoever a message goes to. */
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
]

const otp = [...person, "OTP", "Expiry", "Domain"]
const code = [...person, "Code"]

const domain = [...person, "Domain"]

/** The kinds of messages, and what stands for a value in their texts. */
export const kinds = {
  invite_user: [...code, "ApplicationName"],
  verify_email: code,
  password_reset: code,
  password_change: person,
  init: code,
  verify_phone: code,
  verify_email_otp: otp,
  verify_sms_otp: otp,
  magic_link: otp,
  domain_claimed: [...domain, "TempUsername"],
  passwordless_registration: person,
  account_exists: domain,
  new_device: [...domain, "Place"],
  factor_added: person,
  factor_removed: person,
  email_changed: person,
  email_superseded: domain,
  phone_changed: person,
  owner_recovered: [...domain, "Place"],
  sign_up_waiting: domain,
} as const

export type KindName = keyof typeof kinds

export const kindNames = namesIn(kinds)

/** What a message is made of, from what a list of mails shows to its end. */
export const fields = [
  ...(["subject", "preHeader", "title", "greeting", "text", "buttonText", "footerText"] as const),
] as const

export type FieldName = (typeof fields)[number]

/** A message to a phone has a text alone. */
export const fieldsOf = (kind: KindName): readonly FieldName[] =>
  kind === "verify_phone" || kind === "verify_sms_otp" ? ["text"] : fields

/** What stands for no value of this kind in a text, as it was typed. */
export function strayIn(kind: KindName, text: string): string | undefined {
  const known: readonly string[] = kinds[kind]
  const found = [...text.matchAll(/\{\{\s*\.(\w+)\s*\}\}/g)].find(
    ([, name = ""]) => !known.includes(name),
  )
  return found?.[0]
}

/** A text as it would be sent, with values that show what stands where. */
export const filled = (text: string, samples: Readonly<Record<string, string>>): string =>
  text.replace(/\{\{\s*\.(\w+)\s*\}\}/g, (whole, name: string) => samples[name] ?? whole)

/** What stands where, in a picture of the message. */
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
