import { lazy } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { ThemeMode } from "../../../src/gen/core/policy/v1/policy_pb.ts"
import { defaultColors, defaultPolicyColors } from "../../kit/index.ts"
import { loginPolicy } from "./login-policy.ts"
import {
  checkField,
  definePolicy,
  fieldTexts,
  invertField,
  type PolicyDefinition,
  policyTexts,
} from "./policy.ts"

/** Loaded separately, because it imports additional descriptors. */
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

/** A number for which 0 means never. */
const zeroMeansNever = { kind: "count", min: 0, zero: "policy.lockout.never" } as const

const complexityFields = fieldTexts("policy.complexity")

const complexityPolicy = definePolicy({
  ...policyTexts("policy.complexity"),
  fields: [
    { ...complexityFields.named("minLength"), kind: "count", min: 1, max: 64 },
    checkField(complexityFields.named("hasLowercase")),
    checkField(complexityFields.named("hasUppercase")),
    checkField(complexityFields.named("hasNumber")),
    checkField(complexityFields.named("hasSymbol")),
    {
      ...complexityFields.hinted("reuseCount"),
      kind: "count",
      min: 0,
      max: 24,
      zero: "policy.complexity.any",
    },
  ],
  Additional: ShorterPasswords,
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

const lockoutFields = fieldTexts("policy.lockout")

const lockoutPolicy = definePolicy({
  ...policyTexts("policy.lockout"),
  fields: [
    { ...lockoutFields.hinted("maxPasswordAttempts"), ...zeroMeansNever, max: 1000 },
    { ...lockoutFields.hinted("maxOtpAttempts"), ...zeroMeansNever, max: 1000 },
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

const ageFields = fieldTexts("policy.age")

const agePolicy = definePolicy({
  ...policyTexts("policy.age"),
  fields: [
    { ...ageFields.hinted("maxAgeDays"), ...zeroMeansNever, max: 3650 },
    { ...ageFields.hinted("expireWarnDays"), ...zeroMeansNever, max: 3650 },
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

const domainFields = fieldTexts("policy.domain")

/** Only instance administrators can change it, also for an organization. */
const domainPolicy = definePolicy({
  ...policyTexts("policy.domain"),
  fields: [
    checkField(domainFields.hinted("userLoginMustBeDomain")),
    checkField(domainFields.hinted("validateOrgDomains")),
    checkField(domainFields.named("smtpSenderAddressMatchesInstanceDomain")),
    checkField(domainFields.hinted("usersCanRename")),
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

const notificationFields = fieldTexts("policy.notification")

const notificationPolicy = definePolicy({
  ...policyTexts("policy.notification"),
  fields: [
    checkField(notificationFields.named("passwordChange")),
    checkField(notificationFields.hinted("newDevice")),
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

const linkField = (name: LinkName, type: "url" | "email" | "text" = "url") =>
  ({ name, type, kind: "text", label: `policy.privacy.${name}`, empty: "policy.none" }) as const

const privacyPolicy = definePolicy({
  ...policyTexts("policy.privacy"),
  fields: [
    linkField("tosLink"),
    linkField("privacyLink"),
    linkField("helpLink"),
    linkField("docsLink"),
    linkField("supportEmail", "email"),
    linkField("customLink"),
    linkField("customLinkText", "text"),
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

const colorFields = [
  { name: "primaryColor", delivered: defaultColors.light.accent },
  { name: "backgroundColor", delivered: defaultColors.light.page },
  { name: "fontColor", delivered: defaultColors.light.text },
  { name: "warnColor", delivered: defaultColors.light.danger },
  { name: "primaryColorDark", delivered: defaultColors.dark.accent },
  { name: "backgroundColorDark", delivered: defaultColors.dark.page },
  { name: "fontColorDark", delivered: defaultColors.dark.text },
  { name: "warnColorDark", delivered: defaultColors.dark.danger },
] as const

const brandingFields = fieldTexts("policy.branding")

/** Previewed next to the form, and active once saved. */
const brandingPolicy = definePolicy({
  ...policyTexts("policy.branding"),
  preview: BrandingPreview,
  Additional: BrandingFiles,
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
    ...colorFields.map(
      (colour) =>
        ({
          ...colour,
          kind: "color",
          label: `policy.branding.${colour.name}`,
          unsaid: defaultPolicyColors[colour.name],
        }) as const,
    ),
    invertField(brandingFields.hinted("disableWatermark")),
    invertField(brandingFields.hinted("hideLoginNameSuffix")),
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
 * Policies that can be edited, limited to fields that have an effect; see
 * `test/contract/policies.tsv`.
 */
export const policies: readonly PolicyDefinition[] = [
  loginPolicy,
  complexityPolicy,
  agePolicy,
  lockoutPolicy,
  domainPolicy,
  notificationPolicy,
  privacyPolicy,
  brandingPolicy,
]
