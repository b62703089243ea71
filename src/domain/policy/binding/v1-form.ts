import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import {
  MultiFactorType,
  PasswordlessType,
  SecondFactorType,
  ThemeMode,
} from "../../../gen/core/policy/v1/policy_pb.ts"
import { meaning } from "../../../protocol/api/answer.ts"
import type { DomainPolicy, NotificationPolicy } from "../domain.ts"
import { domainPolicy, notification } from "../domain.ts"
import { type Login, login, type MultiFactor, type SecondFactor } from "../login.ts"
import { lookAddress, previewAddress } from "../look.ts"
import { operationsOf, type ShownAt } from "../operation.ts"
import {
  type Label,
  type LookFiles,
  label,
  labelPreview,
  type Privacy,
  privacy,
  themeModes,
} from "../page.ts"
import {
  type Lockout,
  lockout,
  type PasswordAge,
  type PasswordComplexity,
  passwordAge,
  passwordComplexity,
} from "../password.ts"

/** Fields that one request counts in 32 bits, another in 64. */
type Counted<V> = {
  readonly [Name in keyof V]: V[Name] extends number ? number | bigint : V[Name]
}

type AskedComplexity = Counted<Omit<PasswordComplexity, "reuseCount">> & {
  readonly reuseCount?: number | undefined
}

export const complexityPolicy = operationsOf(passwordComplexity, {
  // Clients that don't know the newer field leave it as it is.
  read: ({ minLength, reuseCount, ...rest }: AskedComplexity): Partial<PasswordComplexity> => ({
    minLength: Number(minLength),
    hasUppercase: rest.hasUppercase,
    hasLowercase: rest.hasLowercase,
    hasNumber: rest.hasNumber,
    hasSymbol: rest.hasSymbol,
    ...(reuseCount !== undefined && { reuseCount }),
  }),
  show: (values) => ({ ...values, minLength: BigInt(values.minLength) }),
})

export const agePolicy = operationsOf(passwordAge, {
  read: ({ maxAgeDays, expireWarnDays }: PasswordAge) => ({ maxAgeDays, expireWarnDays }),
  show: ({ maxAgeDays, expireWarnDays }) => ({
    maxAgeDays: BigInt(maxAgeDays),
    expireWarnDays: BigInt(expireWarnDays),
  }),
})

export const lockoutPolicy = operationsOf(lockout, {
  read: ({ maxPasswordAttempts, maxOtpAttempts }: Lockout) => ({
    maxPasswordAttempts,
    maxOtpAttempts,
  }),
  show: ({ maxPasswordAttempts, maxOtpAttempts }) => ({
    maxPasswordAttempts: BigInt(maxPasswordAttempts),
    maxOtpAttempts: BigInt(maxOtpAttempts),
  }),
})

export const privacyPolicy = operationsOf(privacy, {
  read: (asked: Privacy) => ({
    tosLink: asked.tosLink,
    privacyLink: asked.privacyLink,
    helpLink: asked.helpLink,
    supportEmail: asked.supportEmail,
    docsLink: asked.docsLink,
    customLink: asked.customLink,
    customLinkText: asked.customLinkText,
  }),
  show: (values) => values,
})

type AskedNotification = Pick<NotificationPolicy, "passwordChange"> & {
  readonly newDevice?: boolean | undefined
}

export const notificationPolicy = operationsOf(notification, {
  // Clients that don't know the newer field leave it as it is.
  read: ({ passwordChange, newDevice }: AskedNotification): Partial<NotificationPolicy> => ({
    passwordChange,
    ...(newDevice !== undefined && { newDevice }),
  }),
  show: (values) => values,
})

type DomainPolicyInput = Omit<DomainPolicy, "usersCanRename"> & {
  readonly usersCanRename?: boolean | undefined
}

export const domainPolicies = operationsOf(domainPolicy, {
  // Clients that don't know the newer field leave it as it is.
  read: ({ usersCanRename, ...rest }: DomainPolicyInput): Partial<DomainPolicy> => ({
    userLoginMustBeDomain: rest.userLoginMustBeDomain,
    validateOrgDomains: rest.validateOrgDomains,
    smtpSenderAddressMatchesInstanceDomain: rest.smtpSenderAddressMatchesInstanceDomain,
    ...(usersCanRename !== undefined && { usersCanRename }),
  }),
  show: (values) => values,
})

/** What is left empty is left to the standard; files are sent by themselves. */
type AskedLabel = Omit<Label, "themeMode" | keyof LookFiles> & { readonly themeMode: ThemeMode }

const labelForms = (addressOf: LookAddressOf) => ({
  read: (asked: AskedLabel): Omit<Label, keyof LookFiles> => ({
    primaryColor: asked.primaryColor || label.standard.primaryColor,
    backgroundColor: asked.backgroundColor || label.standard.backgroundColor,
    warnColor: asked.warnColor || label.standard.warnColor,
    fontColor: asked.fontColor || label.standard.fontColor,
    primaryColorDark: asked.primaryColorDark || label.standard.primaryColorDark,
    backgroundColorDark: asked.backgroundColorDark || label.standard.backgroundColorDark,
    warnColorDark: asked.warnColorDark || label.standard.warnColorDark,
    fontColorDark: asked.fontColorDark || label.standard.fontColorDark,
    hideLoginNameSuffix: asked.hideLoginNameSuffix,
    disableWatermark: asked.disableWatermark,
    themeMode: meaning([themeModes[0], ...themeModes], asked.themeMode),
  }),
  show: ({ themeMode, ...values }: Label, at: ShownAt) => ({
    ...values,
    themeMode: modes[themeMode],
    logoUrl: addressOf(at, "logo", values),
    logoUrlDark: addressOf(at, "logoDark", values),
    iconUrl: addressOf(at, "icon", values),
    iconUrlDark: addressOf(at, "iconDark", values),
    fontUrl: addressOf(at, "font", values),
  }),
})

type LookAddressOf = (at: ShownAt, field: keyof LookFiles, files: LookFiles) => string

const modes = { auto: ThemeMode.AUTO, dark: ThemeMode.DARK, light: ThemeMode.LIGHT }

export const labelPolicy = operationsOf(
  label,
  labelForms(({ cx, owner }, field, files) => lookAddress(cx, owner, files[field])),
)

export const previewPolicy = operationsOf(
  labelPreview,
  labelForms(({ cx, place }, field, files) => previewAddress(cx, place, field, files[field])),
)

const flags = [
  "allowUsernamePassword",
  "allowRegister",
  "allowExternalIdp",
  "allowDomainDiscovery",
  "forceMfa",
  "forceMfaLocalOnly",
  "hidePasswordReset",
  "ignoreUnknownUsernames",
  "disableLoginWithEmail",
  "disableLoginWithPhone",
] as const

const lifetimes = [
  "passwordCheckLifetime",
  "externalLoginCheckLifetime",
  "mfaInitSkipLifetime",
  "secondFactorCheckLifetime",
  "multiFactorCheckLifetime",
] as const

type AskedLogin = Pick<Login, (typeof flags)[number] | "defaultRedirectUri"> & {
  readonly [Name in (typeof lifetimes)[number]]?: Duration | undefined
} & {
  readonly passwordlessType: PasswordlessType
  readonly allowMagicLink?: boolean | undefined
  readonly forceMfaManagers?: boolean | undefined
  readonly requireSignUpApproval?: boolean | undefined
  readonly secondFactors?: readonly SecondFactorType[]
  readonly multiFactors?: readonly MultiFactorType[]
}

/** How people sign in, as a request says it; a lifetime that is left out is the standard's. */
export const readLogin = (asked: AskedLogin): Partial<Login> => ({
  ...pick(asked, flags),
  defaultRedirectUri: asked.defaultRedirectUri,
  allowPasswordless: asked.passwordlessType === PasswordlessType.ALLOWED,
  // Clients that don't know these leave them as they are.
  ...(asked.allowMagicLink !== undefined && { allowMagicLink: asked.allowMagicLink }),
  ...(asked.forceMfaManagers !== undefined && { forceMfaManagers: asked.forceMfaManagers }),
  ...(asked.requireSignUpApproval !== undefined && {
    requireSignUpApproval: asked.requireSignUpApproval,
  }),
  ...Object.fromEntries(
    lifetimes.map((name) => {
      const given = asked[name]
      return [name, given ? durationMs(given) / 1000 : login.standard[name]]
    }),
  ),
  ...(asked.secondFactors && { secondFactors: unique(asked.secondFactors.map(secondFactorOf)) }),
  ...(asked.multiFactors && { multiFactors: unique(asked.multiFactors.map(multiFactorOf)) }),
})

export const loginPolicy = operationsOf(login, {
  names: { allowPasswordless: ["passwordlessType"] },
  read: readLogin,
  show: ({ allowPasswordless, ...values }) => ({
    ...values,
    ...lifetimesIn(values),
    passwordlessType: allowPasswordless ? PasswordlessType.ALLOWED : PasswordlessType.NOT_ALLOWED,
    secondFactors: values.secondFactors.map((factor) => secondFactorTypes[factor]),
    multiFactors: values.multiFactors.map((factor) => multiFactorTypes[factor]),
  }),
})

const pick = <T, K extends keyof T>(from: T, names: readonly K[]): Partial<Pick<T, K>> =>
  Object.assign({}, ...names.map((name) => ({ [name]: from[name] })))

const unique = <T>(values: readonly T[]): readonly T[] => [...new Set(values)]

/** The lifetimes of a policy as messages carry them. */
export const lifetimesIn = (values: Pick<Login, (typeof lifetimes)[number]>) => ({
  passwordCheckLifetime: durationFromMs(values.passwordCheckLifetime * 1000),
  externalLoginCheckLifetime: durationFromMs(values.externalLoginCheckLifetime * 1000),
  mfaInitSkipLifetime: durationFromMs(values.mfaInitSkipLifetime * 1000),
  secondFactorCheckLifetime: durationFromMs(values.secondFactorCheckLifetime * 1000),
  multiFactorCheckLifetime: durationFromMs(values.multiFactorCheckLifetime * 1000),
})

/** As both versions number them. */
export const secondFactorTypes: Readonly<Record<SecondFactor, SecondFactorType>> = {
  otp: SecondFactorType.OTP,
  u2f: SecondFactorType.U2F,
  otp_email: SecondFactorType.OTP_EMAIL,
  otp_sms: SecondFactorType.OTP_SMS,
  recovery_codes: SecondFactorType.RECOVERY_CODES,
}

export const multiFactorTypes: Readonly<Record<MultiFactor, MultiFactorType>> = {
  u2f_with_verification: MultiFactorType.U2F_WITH_VERIFICATION,
}

export const secondFactorOf = (type: SecondFactorType): SecondFactor =>
  meaning(
    {
      [SecondFactorType.OTP]: "otp",
      [SecondFactorType.U2F]: "u2f",
      [SecondFactorType.OTP_EMAIL]: "otp_email",
      [SecondFactorType.OTP_SMS]: "otp_sms",
      [SecondFactorType.RECOVERY_CODES]: "recovery_codes",
    } as const,
    type,
  )

export const multiFactorOf = (type: MultiFactorType): MultiFactor =>
  meaning({ [MultiFactorType.U2F_WITH_VERIFICATION]: "u2f_with_verification" } as const, type)
