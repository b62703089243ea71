// The texts that can be said otherwise, one row each: what every test of all of them needs.
import type { JsonObject } from "@bufbuild/protobuf"

export type TextRow = {
  /** As operations are named after it: "InitMessage" in "GetCustomInitMessageText". */
  readonly name: string
  /** As events name it. */
  readonly template: string
  /** What says it for an organisation; for the instance it is always the same name. */
  readonly set: { readonly instance: string; readonly org: string }
  readonly get: { readonly standard: string; readonly custom: string }
  readonly reset: string
  /** Proto3 JSON that an instance, and then an organisation, says; each names one text alone. */
  readonly instance: JsonObject
  readonly own: JsonObject
}

const message = (name: string, kind: string, custom: "" | "Custom" = ""): TextRow => ({
  name,
  template: `message.${kind}`,
  set: {
    instance: `setDefault${name}MessageText`,
    org: `setCustom${name}Message${custom}Text`,
  },
  get: {
    standard: `getDefault${name}MessageText`,
    custom: `getCustom${name}MessageText`,
  },
  reset: `resetCustom${name}MessageTextToDefault`,
  instance: { text: "Dear {{.FirstName}}, so says the instance." },
  own: { text: "Dear {{ .FirstName }}, so says the organisation." },
})

export const textRows: readonly TextRow[] = [
  message("Init", "init"),
  message("PasswordReset", "password_reset"),
  message("VerifyEmail", "verify_email"),
  message("VerifyPhone", "verify_phone"),
  message("VerifySMSOTP", "verify_sms_otp"),
  message("VerifyEmailOTP", "verify_email_otp"),
  message("DomainClaimed", "domain_claimed", "Custom"),
  message("PasswordlessRegistration", "passwordless_registration", "Custom"),
  message("PasswordChange", "password_change", "Custom"),
  message("InviteUser", "invite_user", "Custom"),
  {
    name: "Login",
    template: "login",
    set: { instance: "setCustomLoginText", org: "setCustomLoginText" },
    get: { standard: "getDefaultLoginTexts", custom: "getCustomLoginTexts" },
    reset: "resetCustomLoginTextToDefault",
    instance: { loginText: { title: "Come in" } },
    own: { loginText: { title: "Welcome to Acme" } },
  },
]

export const admin = "admin.v1"
export const management = "management.v1"

/** The language that all of them are said in. */
export const language = "de"

/** What changes a text of an instance and of an organisation, in an order that works. */
export const changesOf = ({ set, reset, instance, own }: TextRow) =>
  [
    [set.instance, { language, ...instance }, admin],
    [set.org, { language, ...own }, management],
    [reset, { language }, management],
    [reset, { language }, admin],
    [set.instance, { language, ...own }, admin],
    [set.org, { language, ...instance }, management],
  ] as const

/** What shows a text. */
export const looksOf = ({ get }: TextRow) =>
  [admin, management].flatMap((of) =>
    [get.standard, get.custom].map((name) => [name, { language }, of] as const),
  )

/** The same for the pages, over v2. */
export const translationLook = [
  "getHostedLoginTranslation",
  { level: { case: "instance", value: true }, locale: language },
] as const
export const translationChange = [
  "setHostedLoginTranslation",
  {
    level: { case: "instance", value: true },
    locale: language,
    translations: { password: { title: "Und jetzt dein Passwort" } },
  },
] as const
