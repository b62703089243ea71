// The policies, one row each, with the data for tests that cover all of them.
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"

export type PolicyRow = {
  /** The name in operations: "Lockout" in "GetLockoutPolicy". */
  readonly name: string
  /** The name in events. */
  readonly kind: string
  /** The default values; proto3 JSON, like the others. */
  readonly standard: JsonObject
  /** The values of an instance, and then of an organization. */
  readonly instance: JsonObject
  readonly own: JsonObject
  /** The v2 operation that returns it, and its fields with other names there. */
  readonly settings?: string
  readonly renamed?: Readonly<Record<string, string>>
  /** Whether every user can read their own effective values. */
  readonly isMine?: true
  /** Whether an owner of the instance sets it for a named organization. */
  readonly isNamed?: true
  /** The operations that publish a preview that only administrators see before. */
  readonly activates?: { readonly instance: string; readonly org: string }
}

const lifetimes = (time: string) => ({
  passwordCheckLifetime: time,
  externalLoginCheckLifetime: time,
  mfaInitSkipLifetime: time,
  secondFactorCheckLifetime: time,
  multiFactorCheckLifetime: time,
})

export const policyRows: readonly PolicyRow[] = [
  {
    name: "PasswordComplexity",
    kind: "password.complexity",
    standard: {
      minLength: 8,
      hasUppercase: true,
      hasLowercase: true,
      hasNumber: true,
      hasSymbol: true,
    },
    instance: { minLength: 10, hasUppercase: true, hasLowercase: true, hasNumber: true },
    own: { minLength: 14, hasSymbol: true },
    settings: "getPasswordComplexitySettings",
    renamed: {
      hasUppercase: "requiresUppercase",
      hasLowercase: "requiresLowercase",
      hasNumber: "requiresNumber",
      hasSymbol: "requiresSymbol",
    },
    isMine: true,
  },
  {
    name: "Lockout",
    kind: "lockout",
    standard: { maxPasswordAttempts: 0, maxOtpAttempts: 0 },
    instance: { maxPasswordAttempts: 10, maxOtpAttempts: 10 },
    own: { maxPasswordAttempts: 5 },
    settings: "getLockoutSettings",
  },
  {
    name: "PasswordAge",
    kind: "password.age",
    standard: { maxAgeDays: 0, expireWarnDays: 0 },
    instance: { maxAgeDays: 365, expireWarnDays: 14 },
    own: { maxAgeDays: 90 },
    settings: "getPasswordExpirySettings",
  },
  {
    name: "Privacy",
    kind: "privacy",
    standard: {
      tosLink: "",
      privacyLink: "",
      helpLink: "",
      supportEmail: "",
      docsLink: "",
      customLink: "",
      customLinkText: "",
    },
    instance: { tosLink: "https://example.com/terms", supportEmail: "help@example.com" },
    own: {
      privacyLink: "https://acme.example.com/privacy",
      customLink: "https://acme.example.com",
      customLinkText: "Acme",
    },
    settings: "getLegalAndSupportSettings",
    renamed: { privacyLink: "privacyPolicyLink" },
    isMine: true,
  },
  {
    name: "Notification",
    kind: "notification",
    standard: { passwordChange: true },
    instance: { passwordChange: false },
    own: { passwordChange: true },
  },
  {
    name: "Domain",
    kind: "domain",
    standard: {
      userLoginMustBeDomain: false,
      validateOrgDomains: false,
      smtpSenderAddressMatchesInstanceDomain: false,
      usersCanRename: false,
    },
    instance: { userLoginMustBeDomain: true, smtpSenderAddressMatchesInstanceDomain: true },
    own: { validateOrgDomains: true },
    settings: "getDomainSettings",
    renamed: {
      userLoginMustBeDomain: "loginNameIncludesDomain",
      validateOrgDomains: "requireOrgDomainVerification",
    },
    isNamed: true,
  },
  {
    name: "Label",
    kind: "label.preview",
    standard: { primaryColor: "#5469d4", hideLoginNameSuffix: false, themeMode: 1 },
    instance: { primaryColor: "#aa0000", hideLoginNameSuffix: true, themeMode: 2 },
    own: { primaryColor: "#00aa00", themeMode: 3 },
    isMine: true,
    activates: { instance: "activateLabelPolicy", org: "activateCustomLabelPolicy" },
  },
  {
    name: "Login",
    kind: "login",
    standard: {
      allowUsernamePassword: true,
      allowRegister: false,
      allowExternalIdp: true,
      allowDomainDiscovery: true,
      passwordlessType: 1,
      forceMfa: false,
      forceMfaLocalOnly: false,
      hidePasswordReset: false,
      ignoreUnknownUsernames: true,
      disableLoginWithEmail: false,
      disableLoginWithPhone: false,
      defaultRedirectUri: "",
      passwordCheckLifetime: "864000s",
      externalLoginCheckLifetime: "864000s",
      mfaInitSkipLifetime: "0s",
      secondFactorCheckLifetime: "64800s",
      multiFactorCheckLifetime: "43200s",
    },
    instance: {
      allowUsernamePassword: true,
      allowRegister: true,
      passwordlessType: 1,
      hidePasswordReset: true,
      defaultRedirectUri: "https://app.example.com/",
      ...lifetimes("3600s"),
    },
    own: {
      allowUsernamePassword: true,
      ignoreUnknownUsernames: true,
      disableLoginWithEmail: true,
      ...lifetimes("60s"),
    },
    settings: "getLoginSettings",
    renamed: { passwordlessType: "passkeysType" },
    isMine: true,
  },
]

/** The operations that set a policy for an organization, and the parameters of the calls. */
export const callsOf = ({ name, isNamed }: PolicyRow) => ({
  of: isNamed ? "admin.v1" : "management.v1",
  get: isNamed ? `getCustom${name}Policy` : `get${name}Policy`,
  standard: isNamed ? undefined : `getDefault${name}Policy`,
  add: `addCustom${name}Policy`,
  update: `updateCustom${name}Policy`,
  reset: isNamed ? `resetCustom${name}PolicyToDefault` : `reset${name}PolicyToDefault`,
  more: isNamed ? { orgId: "org1" } : {},
})

/** Proto3 JSON as message input in TypeScript: only durations differ. */
export const messageOf = (json: JsonObject): object =>
  Object.fromEntries(Object.entries(json).map(([name, value]) => [name, toMessageValue(value)]))

const toMessageValue = (value: JsonValue): unknown =>
  typeof value === "string" && /^-?\d+s$/.test(value)
    ? { seconds: BigInt(value.slice(0, -1)) }
    : value

/** The reverse, for the fields of a row; unset ones are empty. */
export function jsonOf(row: PolicyRow, message: Readonly<Record<string, unknown>>): JsonObject {
  const names = Object.keys({ ...row.standard, ...row.instance, ...row.own })
  return Object.fromEntries(names.map((name) => [name, toJsonValue(message[name])]))
}

function toJsonValue(value: unknown): JsonValue {
  if (typeof value === "bigint") return Number(value)
  if (Array.isArray(value)) return value.map(toJsonValue)
  if (typeof value === "object" && value && "seconds" in value) return `${value.seconds}s`
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return value
  }
  return null
}

/** The values with the omitted ones: the empty value of their type. */
export const withEmptyValues = (row: PolicyRow, values: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries({ ...row.standard, ...row.instance, ...row.own }).map(([name, value]) => [
      name,
      values[name] ?? emptyOf(value),
    ]),
  )

function emptyOf(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return []
  if (typeof value === "string") return /^\d+s$/.test(value) ? "0s" : ""
  return typeof value === "boolean" ? false : 0
}
