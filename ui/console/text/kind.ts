import { namesIn } from "../form/index.ts"

/** What can be said of whoever a message goes to. */
const person = [
  ...["DisplayName", "FirstName", "LastName", "NickName", "UserName", "PreferredLoginName"],
  ...["LastEmail", "VerifiedEmail", "LastPhone", "VerifiedPhone"],
]

const otp = [...person, "OTP", "Expiry", "Domain"]
const code = [...person, "Code"]

/** The kinds of messages: how operations call them, and what stands for a value in their texts. */
export const kinds = {
  invite_user: { name: "InviteUser", values: [...code, "ApplicationName"] },
  verify_email: { name: "VerifyEmail", values: code },
  password_reset: { name: "PasswordReset", values: code },
  password_change: { name: "PasswordChange", values: person },
  init: { name: "Init", values: code },
  verify_phone: { name: "VerifyPhone", values: code },
  verify_email_otp: { name: "VerifyEmailOTP", values: otp },
  verify_sms_otp: { name: "VerifySMSOTP", values: otp },
  domain_claimed: { name: "DomainClaimed", values: [...person, "Domain", "TempUsername"] },
  passwordless_registration: { name: "PasswordlessRegistration", values: person },
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
  const known: readonly string[] = kinds[kind].values
  const found = [...text.matchAll(/\{\{\s*\.(\w+)\s*\}\}/g)].find(
    ([, name = ""]) => !known.includes(name),
  )
  return found?.[0]
}

/** A text as it would be sent, with values that show what stands where. */
export const filled = (text: string, samples: Readonly<Record<string, string>>): string =>
  text.replace(/\{\{\s*\.(\w+)\s*\}\}/g, (whole, name: string) => samples[name] ?? whole)
