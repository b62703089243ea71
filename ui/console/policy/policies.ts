import { lazy } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { ThemeMode } from "../../../src/gen/core/policy/v1/policy_pb.ts"
import { delivered, unsaid } from "../../kit/index.ts"
import { login } from "./login-policy.ts"
import { check, headed, hinted, named, type Policy } from "./policy.ts"

/** Loaded beside the rest: files have descriptors of their own. */
const BrandingPreview = lazy(async () => ({
  default: (await import("./branding-preview.tsx")).BrandingPreview,
}))
const ShorterPasswords = lazy(async () => ({
  default: (await import("./shorter-passwords.tsx")).ShorterPasswords,
}))
const LookFiles = lazy(async () => ({
  default: (await import("./branding-file-list.tsx")).LookFiles,
}))

const admin = AdminService.method
const management = ManagementService.method

/** A number that may be none. */
const never = { kind: "count", min: 0, zero: "policy.lockout.never" } as const

const complexity: Policy = {
  ...headed("policy.complexity"),
  fields: [
    { name: "minLength", label: "policy.complexity.minLength", kind: "count", min: 1, max: 64 },
    check(named("policy.complexity.hasLowercase")),
    check(named("policy.complexity.hasUppercase")),
    check(named("policy.complexity.hasNumber")),
    check(named("policy.complexity.hasSymbol")),
    {
      ...hinted("policy.complexity.reuseCount"),
      ...{ kind: "count", min: 0, max: 24, zero: "policy.complexity.any" },
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
}

const lockout: Policy = {
  ...headed("policy.lockout"),
  fields: [
    { ...hinted("policy.lockout.maxPasswordAttempts"), ...never, max: 1000 },
    { ...hinted("policy.lockout.maxOtpAttempts"), ...never, max: 1000 },
  ],
  instance: { get: admin.getLockoutPolicy, update: admin.updateLockoutPolicy },
  organization: {
    get: management.getLockoutPolicy,
    inherited: management.getDefaultLockoutPolicy,
    add: management.addCustomLockoutPolicy,
    update: management.updateCustomLockoutPolicy,
    reset: management.resetLockoutPolicyToDefault,
  },
}

const age: Policy = {
  ...headed("policy.age"),
  fields: [
    { ...hinted("policy.age.maxAgeDays"), ...never, max: 3650 },
    { ...hinted("policy.age.expireWarnDays"), ...never, max: 3650 },
  ],
  instance: { get: admin.getPasswordAgePolicy, update: admin.updatePasswordAgePolicy },
  organization: {
    get: management.getPasswordAgePolicy,
    inherited: management.getDefaultPasswordAgePolicy,
    add: management.addCustomPasswordAgePolicy,
    update: management.updateCustomPasswordAgePolicy,
    reset: management.resetPasswordAgePolicyToDefault,
  },
}

/** Whoever manages the instance alone decides it, also for one organisation. */
const domain: Policy = {
  ...headed("policy.domain"),
  fields: [
    check(hinted("policy.domain.userLoginMustBeDomain")),
    check(hinted("policy.domain.validateOrgDomains")),
    check(named("policy.domain.smtpSenderAddressMatchesInstanceDomain")),
    check(hinted("policy.domain.usersCanRename")),
  ],
  instance: { get: admin.getDomainPolicy, update: admin.updateDomainPolicy },
  organization: {
    get: management.getDomainPolicy,
    inherited: admin.getDomainPolicy,
    add: admin.addCustomDomainPolicy,
    update: admin.updateCustomDomainPolicy,
    reset: admin.resetCustomDomainPolicyToDefault,
  },
}

const notification: Policy = {
  ...headed("policy.notification"),
  fields: [
    check(named("policy.notification.passwordChange")),
    check(hinted("policy.notification.newDevice")),
  ],
  instance: { get: admin.getNotificationPolicy, update: admin.updateNotificationPolicy },
  organization: {
    get: management.getNotificationPolicy,
    inherited: management.getDefaultNotificationPolicy,
    add: management.addCustomNotificationPolicy,
    update: management.updateCustomNotificationPolicy,
    reset: management.resetNotificationPolicyToDefault,
  },
}

type LinkName =
  | `${"tos" | "privacy" | "help" | "docs" | "custom"}Link`
  | "supportEmail"
  | "customLinkText"

const link = (name: LinkName, type: "url" | "email" | "text" = "url") =>
  ({ name, type, kind: "text", label: `policy.privacy.${name}`, empty: "policy.none" }) as const

const privacy: Policy = {
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
}

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

/** It is shown beside the form while it is changed, and to everybody once it is saved. */
const branding: Policy = {
  ...headed("policy.branding"),
  preview: BrandingPreview,
  more: LookFiles,
  fields: [
    {
      ...named("policy.branding.themeMode"),
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
    check(hinted("policy.branding.disableWatermark")),
    check(hinted("policy.branding.hideLoginNameSuffix")),
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
}

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
