import { lazy } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { ThemeMode } from "../../../src/gen/core/policy/v1/policy_pb.ts"
import { delivered, unsaid } from "../../kit/branding.ts"
import { login } from "./login.ts"
import { check, type Policy } from "./policy.ts"

/** Loaded beside the rest: files have descriptors of their own. */
const BrandingPreview = lazy(async () => ({
  default: (await import("./branding-preview.tsx")).BrandingPreview,
}))
const LookFiles = lazy(async () => ({ default: (await import("./look-files.tsx")).LookFiles }))

const admin = AdminService.method
const management = ManagementService.method

/** A number that may be none. */
const never = { kind: "count", min: 0, zero: "policy.lockout.never" } as const

const complexity: Policy = {
  name: "complexity",
  title: "policy.complexity",
  lead: "policy.complexity.lead",
  fields: [
    { name: "minLength", label: "policy.complexity.minLength", kind: "count", min: 1, max: 64 },
    check("hasLowercase", "policy.complexity.hasLowercase"),
    check("hasUppercase", "policy.complexity.hasUppercase"),
    check("hasNumber", "policy.complexity.hasNumber"),
    check("hasSymbol", "policy.complexity.hasSymbol"),
    {
      name: "reuseCount",
      label: "policy.complexity.reuseCount",
      hint: "policy.complexity.reuseCount.hint",
      ...{ kind: "count", min: 0, max: 24, zero: "policy.complexity.any" },
    },
  ],
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
  name: "lockout",
  title: "policy.lockout",
  lead: "policy.lockout.lead",
  fields: [
    {
      ...{ name: "maxPasswordAttempts", ...never, max: 1000 },
      label: "policy.lockout.maxPasswordAttempts",
      hint: "policy.lockout.maxPasswordAttempts.hint",
    },
    {
      ...{ name: "maxOtpAttempts", ...never, max: 1000 },
      label: "policy.lockout.maxOtpAttempts",
      hint: "policy.lockout.maxOtpAttempts.hint",
    },
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
  name: "age",
  title: "policy.age",
  lead: "policy.age.lead",
  fields: [
    {
      ...{ name: "maxAgeDays", ...never, max: 3650 },
      label: "policy.age.maxAgeDays",
      hint: "policy.age.maxAgeDays.hint",
    },
    {
      ...{ name: "expireWarnDays", ...never, max: 3650 },
      label: "policy.age.expireWarnDays",
      hint: "policy.age.expireWarnDays.hint",
    },
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
  name: "domain",
  title: "policy.domain",
  lead: "policy.domain.lead",
  fields: [
    check(
      "userLoginMustBeDomain",
      "policy.domain.userLoginMustBeDomain",
      "policy.domain.userLoginMustBeDomain.hint",
    ),
    check(
      "validateOrgDomains",
      "policy.domain.validateOrgDomains",
      "policy.domain.validateOrgDomains.hint",
    ),
    check(
      "smtpSenderAddressMatchesInstanceDomain",
      "policy.domain.smtpSenderAddressMatchesInstanceDomain",
    ),
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
  name: "notification",
  title: "policy.notification",
  lead: "policy.notification.lead",
  fields: [
    check("passwordChange", "policy.notification.passwordChange"),
    check("newDevice", "policy.notification.newDevice", "policy.notification.newDevice.hint"),
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
  name: "privacy",
  title: "policy.privacy",
  lead: "policy.privacy.lead",
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
  name: "branding",
  title: "policy.branding",
  lead: "policy.branding.lead",
  preview: BrandingPreview,
  more: LookFiles,
  fields: [
    {
      name: "themeMode",
      label: "policy.branding.themeMode",
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
    check(
      "disableWatermark",
      "policy.branding.disableWatermark",
      "policy.branding.disableWatermark.hint",
    ),
    check(
      "hideLoginNameSuffix",
      "policy.branding.hideLoginNameSuffix",
      "policy.branding.hideLoginNameSuffix.hint",
    ),
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
