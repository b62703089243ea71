import { share } from "../../../api/method.ts"
import type { RequestContext } from "../../../gen/core/object/v2/object_pb.ts"
import {
  MultiFactorType,
  PasskeysType,
  ResourceOwnerType,
  SecondFactorType,
  ThemeMode,
} from "../../../gen/core/settings/v2/settings_pb.ts"
import { SettingsService } from "../../../gen/core/settings/v2/settings_service_pb.ts"
import { namedOrganization } from "../../../kernel/context.ts"
import { pageLanguages } from "../../../kernel/text/language.ts"
import { details } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import { languagesOf } from "../../quota/index.ts"
import { findPolicy, policyOf } from "../commands.ts"
import { domainPolicy } from "../domain.ts"
import type { Policy, Values } from "../kind.ts"
import { login, type MultiFactor, type SecondFactor } from "../login.ts"
import { lookAddress } from "../look.ts"
import { label, privacy } from "../page.ts"
import { lockout, passwordAge, passwordComplexity } from "../password.ts"
import { lifetimesIn } from "./v1-form.ts"

const modes = { auto: ThemeMode.AUTO, dark: ThemeMode.DARK, light: ThemeMode.LIGHT }

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

export const v2 = share<Cx>()(SettingsService, {
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
  getLoginSettings: settingsOf(login, ({ allowPasswordless, ...values }) => ({
    ...values,
    ...lifetimesIn(values),
    allowLocalAuthentication: values.allowUsernamePassword || allowPasswordless,
    passkeysType: allowPasswordless ? PasskeysType.ALLOWED : PasskeysType.NOT_ALLOWED,
    secondFactors: values.secondFactors.map((factor) => secondFactorTypes[factor]),
    multiFactors: values.multiFactors.map((factor) => multiFactorTypes[factor]),
  })),
  getPasswordComplexitySettings: settingsOf(passwordComplexity, (values) => ({
    minLength: BigInt(values.minLength),
    requiresUppercase: values.hasUppercase,
    requiresLowercase: values.hasLowercase,
    requiresNumber: values.hasNumber,
    requiresSymbol: values.hasSymbol,
    reuseCount: values.reuseCount,
  })),
  getPasswordExpirySettings: settingsOf(passwordAge, ({ maxAgeDays, expireWarnDays }) => ({
    maxAgeDays: BigInt(maxAgeDays),
    expireWarnDays: BigInt(expireWarnDays),
  })),
  getLockoutSettings: settingsOf(lockout, ({ maxPasswordAttempts, maxOtpAttempts }) => ({
    maxPasswordAttempts: BigInt(maxPasswordAttempts),
    maxOtpAttempts: BigInt(maxOtpAttempts),
  })),
  getBrandingSettings: settingsOf(label, (values, addressOf) => ({
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
    themeMode: modes[values.themeMode],
  })),
  getDomainSettings: settingsOf(domainPolicy, (values) => ({
    loginNameIncludesDomain: values.userLoginMustBeDomain,
    requireOrgDomainVerification: values.validateOrgDomains,
    smtpSenderAddressMatchesInstanceDomain: values.smtpSenderAddressMatchesInstanceDomain,
    usersCanRename: values.usersCanRename,
  })),
  getLegalAndSupportSettings: settingsOf(privacy, ({ privacyLink, ...values }) => ({
    ...values,
    privacyPolicyLink: privacyLink,
  })),
})

/** How v2 shows a policy: that of an organisation, or of the instance. */
function settingsOf<V extends Values, Shown>(
  policy: Policy<V>,
  show: (values: V, addressOf: (file: string) => string) => Shown,
) {
  return ({ ctx }: { readonly ctx?: RequestContext | undefined }, cx: Cx) => {
    const place = namedOrganization(cx, ctx?.resourceOwner)
    const { isDefault, stand } = findPolicy(cx, place, policy)
    const values = policyOf(cx, place ?? "", policy)
    const resourceOwnerType = isDefault ? ResourceOwnerType.INSTANCE : ResourceOwnerType.ORG
    const shown = show(values, (file) => lookAddress(cx, stand.owner, file))
    return { details: details(stand), settings: { ...shown, resourceOwnerType } }
  }
}
