import { bindHandlers } from "../../../api/method.ts"
import type { RequestContext } from "../../../gen/core/object/v2/object_pb.ts"
import {
  MultiFactorType,
  PasskeysType,
  ResourceOwnerType,
  SecondFactorType,
  ThemeMode,
} from "../../../gen/core/settings/v2/settings_pb.ts"
import { SettingsService } from "../../../gen/core/settings/v2/settings_service_pb.ts"
import { requestedOrganization } from "../../../kernel/context.ts"
import { pageLanguages } from "../../../kernel/text/language.ts"
import { toDetails } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import { languagesOf } from "../../quota/index.ts"
import { label, privacy } from "../branding.ts"
import { brandingUrl } from "../branding-url.ts"
import { findPolicy, policyOf } from "../commands.ts"
import { domainPolicy } from "../domain.ts"
import type { Policy, PolicyValues } from "../kind.ts"
import { login, type MultiFactor, type SecondFactor } from "../login.ts"
import { lockout, passwordAge, passwordComplexity } from "../password.ts"
import { toLifetimes } from "./v1-form.ts"

const themeModeMessages = { auto: ThemeMode.AUTO, dark: ThemeMode.DARK, light: ThemeMode.LIGHT }

const secondFactorTypes: Readonly<Record<SecondFactor, SecondFactorType>> = {
  otp: SecondFactorType.TOTP,
  u2f: SecondFactorType.U2F,
  otp_email: SecondFactorType.OTP_EMAIL,
  otp_sms: SecondFactorType.OTP_SMS,
  recovery_codes: SecondFactorType.RECOVERY_CODES,
}

const multiFactorTypes: Readonly<Record<MultiFactor, MultiFactorType>> = {
  u2f_with_verification: MultiFactorType.U2F_WITH_VERIFICATION,
}

export const v2 = bindHandlers<Cx>()(SettingsService, {
  getGeneralSettings: (_, cx) => {
    const { defaultOrgId } = requireInstance(cx)
    return {
      defaultOrgId,
      defaultOrganizationId: defaultOrgId,
      defaultLanguage: languagesOf(cx)[0] ?? "",
      supportedLanguages: [...pageLanguages],
      allowedLanguages: [...languagesOf(cx)],
    }
  },
  getLoginSettings: getSettings(login, ({ allowPasswordless, ...values }) => ({
    ...values,
    ...toLifetimes(values),
    allowLocalAuthentication: values.allowUsernamePassword || allowPasswordless,
    passkeysType: allowPasswordless ? PasskeysType.ALLOWED : PasskeysType.NOT_ALLOWED,
    secondFactors: values.secondFactors.map((factor) => secondFactorTypes[factor]),
    multiFactors: values.multiFactors.map((factor) => multiFactorTypes[factor]),
  })),
  getPasswordComplexitySettings: getSettings(passwordComplexity, (values) => ({
    minLength: BigInt(values.minLength),
    requiresUppercase: values.hasUppercase,
    requiresLowercase: values.hasLowercase,
    requiresNumber: values.hasNumber,
    requiresSymbol: values.hasSymbol,
    reuseCount: values.reuseCount,
  })),
  getPasswordExpirySettings: getSettings(passwordAge, ({ maxAgeDays, expireWarnDays }) => ({
    maxAgeDays: BigInt(maxAgeDays),
    expireWarnDays: BigInt(expireWarnDays),
  })),
  getLockoutSettings: getSettings(lockout, ({ maxPasswordAttempts, maxOtpAttempts }) => ({
    maxPasswordAttempts: BigInt(maxPasswordAttempts),
    maxOtpAttempts: BigInt(maxOtpAttempts),
  })),
  getBrandingSettings: getSettings(label, (values, addressOf) => ({
    lightTheme: {
      primaryColor: values.primaryColor,
      backgroundColor: values.backgroundColor,
      warnColor: values.warnColor,
      fontColor: values.fontColor,
      logoUrl: addressOf(values.logo),
      iconUrl: addressOf(values.icon),
    },
    darkTheme: {
      primaryColor: values.primaryColorDark,
      backgroundColor: values.backgroundColorDark,
      warnColor: values.warnColorDark,
      fontColor: values.fontColorDark,
      logoUrl: addressOf(values.logoDark),
      iconUrl: addressOf(values.iconDark),
    },
    fontUrl: addressOf(values.font),
    hideLoginNameSuffix: values.hideLoginNameSuffix,
    disableWatermark: values.disableWatermark,
    themeMode: themeModeMessages[values.themeMode],
  })),
  getDomainSettings: getSettings(domainPolicy, (values) => ({
    loginNameIncludesDomain: values.userLoginMustBeDomain,
    requireOrgDomainVerification: values.validateOrgDomains,
    smtpSenderAddressMatchesInstanceDomain: values.smtpSenderAddressMatchesInstanceDomain,
    usersCanRename: values.usersCanRename,
  })),
  getLegalAndSupportSettings: getSettings(privacy, ({ privacyLink, ...values }) => ({
    ...values,
    privacyPolicyLink: privacyLink,
  })),
})

/** An operation of version 2 that returns a policy of an organization or the instance. */
function getSettings<V extends PolicyValues, PolicyMessage>(
  policy: Policy<V>,
  show: (values: V, addressOf: (file: string) => string) => PolicyMessage,
) {
  return ({ ctx }: { readonly ctx?: RequestContext | undefined }, cx: Cx) => {
    const owner = requestedOrganization(cx, ctx?.resourceOwner)
    const { isDefault, source: stand } = findPolicy(cx, owner, policy)
    const values = policyOf(cx, owner ?? "", policy)
    const resourceOwnerType = isDefault ? ResourceOwnerType.INSTANCE : ResourceOwnerType.ORG
    const shown = show(values, (file) => brandingUrl(cx, stand.owner, file))
    return { details: toDetails(stand), settings: { ...shown, resourceOwnerType } }
  }
}
