import { lazy } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { ThemeMode } from "../../../src/gen/core/policy/v1/policy_pb.ts"
import { delivered, unsaid } from "../../kit/index.ts"
import { login } from "./login-policy.ts"
import { check, fieldsOf, headed, inverted, type Policy, policyOf } from "./policy.ts"

/** Loaded beside the rest: files have descriptors of their own. */
const BrandingPreview = lazy(async () => ({
  default: (await import("./branding-preview.tsx")).BrandingPreview,
}))
const ShorterPasswords = lazy(async () => ({
  default: (await import("./shorter-passwords.tsx")).ShorterPasswords,
}))
const BrandingFiles = lazy(async () => ({
  default: (await import("./branding-file-list.tsx")).BrandingFiles,
}))

const admin = AdminService.method
const management = ManagementService.method

/** A number that may be none. */
const never = { kind: "count", min: 0, zero: "policy.lockout.never" } as const

const complexityFields = fieldsOf("policy.complexity")

const complexity = policyOf({
  ...headed("policy.complexity"),
  fields: [
    { ...complexityFields.named("minLength"), kind: "count", min: 1, max: 64 },
    check(complexityFields.named("hasLowercase")),
    check(complexityFields.named("hasUppercase")),
    check(complexityFields.named("hasNumber")),
    check(complexityFields.named("hasSymbol")),
    {
      ...complexityFields.hinted("reuseCount"),
      kind: "count",
      min: 0,
      max: 24,
      zero: "policy.complexity.any",
    },
  ],
  more: ShorterPasswords,
  instance: {
    get: admin.getPasswordComplexityPolicy,
    update: admin.updatePasswordComplexityPolicy,
  },
  organization: {
    get: management.getPasswordComplexityPolicy,
    inherited: management.getDefaultPasswordComplexityPolicy,
    add: management.addCustomPasswordComplexityPolicy,
    update: management.updateCustomPasswordComplexityPolicy,
    reset: management.resetPasswordComplexityPolicyToDefault,
  },
})

const lockoutFields = fieldsOf("policy.lockout")

const lockout = policyOf({
  ...headed("policy.lockout"),
  fields: [
    { ...lockoutFields.hinted("maxPasswordAttempts"), ...never, max: 1000 },
    { ...lockoutFields.hinted("maxOtpAttempts"), ...never, max: 1000 },
  ],
  instance: { get: admin.getLockoutPolicy, update: admin.updateLockoutPolicy },
  organization: {
    get: management.getLockoutPolicy,
    inherited: management.getDefaultLockoutPolicy,
    add: management.addCustomLockoutPolicy,
    update: management.updateCustomLockoutPolicy,
    reset: management.resetLockoutPolicyToDefault,
  },
})

const ageFields = fieldsOf("policy.age")

const age = policyOf({
  ...headed("policy.age"),
  fields: [
    { ...ageFields.hinted("maxAgeDays"), ...never, max: 3650 },
    { ...ageFields.hinted("expireWarnDays"), ...never, max: 3650 },
  ],
  instance: { get: admin.getPasswordAgePolicy, update: admin.updatePasswordAgePolicy },
  organization: {
    get: management.getPasswordAgePolicy,
    inherited: management.getDefaultPasswordAgePolicy,
    add: management.addCustomPasswordAgePolicy,
    update: management.updateCustomPasswordAgePolicy,
    reset: management.resetPasswordAgePolicyToDefault,
  },
})

const domainFields = fieldsOf("policy.domain")

/** Whoever manages the instance alone decides it, also for one organisation. */
const domain = policyOf({
  ...headed("policy.domain"),
  fields: [
    check(domainFields.hinted("userLoginMustBeDomain")),
    check(domainFields.hinted("validateOrgDomains")),
    check(domainFields.named("smtpSenderAddressMatchesInstanceDomain")),
    check(domainFields.hinted("usersCanRename")),
  ],
  instance: { get: admin.getDomainPolicy, update: admin.updateDomainPolicy },
  organization: {
    get: management.getDomainPolicy,
    inherited: admin.getDomainPolicy,
    add: admin.addCustomDomainPolicy,
    update: admin.updateCustomDomainPolicy,
    reset: admin.resetCustomDomainPolicyToDefault,
  },
})

const notificationFields = fieldsOf("policy.notification")

const notification = policyOf({
  ...headed("policy.notification"),
  fields: [
    check(notificationFields.named("passwordChange")),
    check(notificationFields.hinted("newDevice")),
  ],
  instance: { get: admin.getNotificationPolicy, update: admin.updateNotificationPolicy },
  organization: {
    get: management.getNotificationPolicy,
    inherited: management.getDefaultNotificationPolicy,
    add: management.addCustomNotificationPolicy,
    update: management.updateCustomNotificationPolicy,
    reset: management.resetNotificationPolicyToDefault,
  },
})

type LinkName =
  | `${"tos" | "privacy" | "help" | "docs" | "custom"}Link`
  | "supportEmail"
  | "customLinkText"

const link = (name: LinkName, type: "url" | "email" | "text" = "url") =>
  ({ name, type, kind: "text", label: `policy.privacy.${name}`, empty: "policy.none" }) as const

const privacy = policyOf({
  ...headed("policy.privacy"),
  fields: [
    link("tosLink"),
    link("privacyLink"),
    link("helpLink"),
    link("docsLink"),
    link("supportEmail", "email"),
    link("customLink"),
    link("customLinkText", "text"),
  ],
  instance: { get: admin.getPrivacyPolicy, update: admin.updatePrivacyPolicy },
  organization: {
    get: management.getPrivacyPolicy,
    inherited: management.getDefaultPrivacyPolicy,
    add: management.addCustomPrivacyPolicy,
    update: management.updateCustomPrivacyPolicy,
    reset: management.resetPrivacyPolicyToDefault,
  },
})

const colours = [
  { name: "primaryColor", delivered: delivered.light.accent },
  { name: "backgroundColor", delivered: delivered.light.page },
  { name: "fontColor", delivered: delivered.light.text },
  { name: "warnColor", delivered: delivered.light.danger },
  { name: "primaryColorDark", delivered: delivered.dark.accent },
  { name: "backgroundColorDark", delivered: delivered.dark.page },
  { name: "fontColorDark", delivered: delivered.dark.text },
  { name: "warnColorDark", delivered: delivered.dark.danger },
] as const

const brandingFields = fieldsOf("policy.branding")

/** It is shown beside the form while it is changed, and to everybody once it is saved. */
const branding = policyOf({
  ...headed("policy.branding"),
  preview: BrandingPreview,
  more: BrandingFiles,
  fields: [
    {
      ...brandingFields.named("themeMode"),
      kind: "choice",
      options: [
        { value: String(ThemeMode.AUTO), label: "policy.branding.auto" },
        { value: String(ThemeMode.LIGHT), label: "policy.branding.light" },
        { value: String(ThemeMode.DARK), label: "policy.branding.dark" },
      ],
    },
    ...colours.map(
      (colour) =>
        ({
          ...colour,
          kind: "color",
          label: `policy.branding.${colour.name}`,
          unsaid: unsaid[colour.name],
        }) as const,
    ),
    inverted(brandingFields.hinted("disableWatermark")),
    inverted(brandingFields.hinted("hideLoginNameSuffix")),
  ],
  instance: {
    get: admin.getPreviewLabelPolicy,
    update: admin.updateLabelPolicy,
    activate: admin.activateLabelPolicy,
  },
  organization: {
    get: management.getPreviewLabelPolicy,
    inherited: management.getDefaultLabelPolicy,
    add: management.addCustomLabelPolicy,
    update: management.updateCustomLabelPolicy,
    activate: management.activateCustomLabelPolicy,
    reset: management.resetLabelPolicyToDefault,
  },
})

/**
 * The policies that can be changed here, with those fields that something asks: a switch that does
 * nothing would lie. `test/contract/policies.tsv` says which these are.
 */
export const policies: readonly Policy[] = [
  login,
  complexity,
  age,
  lockout,
  domain,
  notification,
  privacy,
  branding,
]
