// The customizable texts, one row each, with the data for tests that cover all of them.
import type { JsonObject } from "@bufbuild/protobuf"

export type TextRow = {
  /** The name in operations: "InitMessage" in "GetCustomInitMessageText". */
  readonly name: string
  /** The name in events. */
  readonly template: string
  /** The operation for an organization; for instances the name is uniform. */
  readonly set: { readonly instance: string; readonly org: string }
  readonly get: { readonly standard: string; readonly custom: string }
  readonly reset: string
  /** The request fields besides the language: the message, if one operation covers all. */
  readonly names?: JsonObject
  /** The proto3 JSON of an instance, and then of an organization; each has one text. */
  readonly instance: JsonObject
  readonly own: JsonObject
}

const message = (name: string, kind: string, custom: "" | "Custom" = ""): TextRow => ({
  name: name || kind,
  names: name === "" ? { kind } : {},
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
  ...["account_exists", "new_device", "magic_link", "factor_added", "factor_removed"].map((kind) =>
    message("", kind),
  ),
  ...["email_changed", "email_superseded", "phone_changed", "owner_recovered"].map((kind) =>
    message("", kind),
  ),
  message("", "sign_up_waiting"),
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

/** The language of all of them. */
export const language = "de"

/** The operations that change a text of an instance and of an organization, in a valid order. */
export const changeCallsOf = ({ set, reset, instance, own, names }: TextRow) =>
  [
    [set.instance, { language, ...names, ...instance }, admin],
    [set.org, { language, ...names, ...own }, management],
    [reset, { language, ...names }, management],
    [reset, { language, ...names }, admin],
    [set.instance, { language, ...names, ...own }, admin],
    [set.org, { language, ...names, ...instance }, management],
  ] as const

/** The operations that return a text. */
export const readCallsOf = ({ get, names }: TextRow) =>
  [admin, management].flatMap((of) =>
    [get.standard, get.custom].map((name) => [name, { language, ...names }, of] as const),
  )

/** The same for the pages, in v2. */
export const translationRead = [
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
