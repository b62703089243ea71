import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import {
  MultiFactorType,
  PasswordlessType,
  SecondFactorType,
  ThemeMode,
} from "../../../gen/core/policy/v1/policy_pb.ts"
import { valueOfEnum } from "../../../protocol/api/response.ts"
import {
  type BrandingFiles,
  type Label,
  label,
  labelPreview,
  type Privacy,
  privacy,
  themeModes,
} from "../branding.ts"
import { brandingUrl, previewUrl } from "../branding-url.ts"
import type { DomainPolicy, NotificationPolicy } from "../domain.ts"
import { domainPolicy, notification } from "../domain.ts"
import { type Login, login, type MultiFactor, type SecondFactor } from "../login.ts"
import { type PolicyContext, policyOperations } from "../operation.ts"
import {
  type Lockout,
  lockout,
  type PasswordAge,
  type PasswordComplexity,
  passwordAge,
  passwordComplexity,
} from "../password.ts"

/** Some requests have 32-bit integers, others 64-bit ones. */
type WithBigints<V> = {
  readonly [Name in keyof V]: V[Name] extends number ? number | bigint : V[Name]
}

type ComplexityRequest = WithBigints<Omit<PasswordComplexity, "reuseCount">> & {
  readonly reuseCount?: number | undefined
}

export const complexityOperations = policyOperations(passwordComplexity, {
  // If the field is absent, as from older clients, the value is kept.
  read: ({ minLength, reuseCount, ...rest }: ComplexityRequest): Partial<PasswordComplexity> => ({
    minLength: Number(minLength),
    hasUppercase: rest.hasUppercase,
    hasLowercase: rest.hasLowercase,
    hasNumber: rest.hasNumber,
    hasSymbol: rest.hasSymbol,
    ...(reuseCount !== undefined && { reuseCount }),
  }),
  show: (values) => ({ ...values, minLength: BigInt(values.minLength) }),
})

export const ageOperations = policyOperations(passwordAge, {
  read: ({ maxAgeDays, expireWarnDays }: PasswordAge) => ({ maxAgeDays, expireWarnDays }),
  show: ({ maxAgeDays, expireWarnDays }) => ({
    maxAgeDays: BigInt(maxAgeDays),
    expireWarnDays: BigInt(expireWarnDays),
  }),
})

export const lockoutOperations = policyOperations(lockout, {
  read: ({ maxPasswordAttempts, maxOtpAttempts }: Lockout) => ({
    maxPasswordAttempts,
    maxOtpAttempts,
  }),
  show: ({ maxPasswordAttempts, maxOtpAttempts }) => ({
    maxPasswordAttempts: BigInt(maxPasswordAttempts),
    maxOtpAttempts: BigInt(maxOtpAttempts),
  }),
})

export const privacyOperations = policyOperations(privacy, {
  read: (request: Privacy) => ({
    tosLink: request.tosLink,
    privacyLink: request.privacyLink,
    helpLink: request.helpLink,
    supportEmail: request.supportEmail,
    docsLink: request.docsLink,
    customLink: request.customLink,
    customLinkText: request.customLinkText,
  }),
  show: (values) => values,
})

type NotificationRequest = Pick<NotificationPolicy, "passwordChange"> & {
  readonly newDevice?: boolean | undefined
}

export const notificationOperations = policyOperations(notification, {
  // If the field is absent, as from older clients, the value is kept.
  read: ({ passwordChange, newDevice }: NotificationRequest): Partial<NotificationPolicy> => ({
    passwordChange,
    ...(newDevice !== undefined && { newDevice }),
  }),
  show: (values) => values,
})

type DomainPolicyInput = Omit<DomainPolicy, "usersCanRename"> & {
  readonly usersCanRename?: boolean | undefined
}

export const domainOperations = policyOperations(domainPolicy, {
  // If the field is absent, as from older clients, the value is kept.
  read: ({ usersCanRename, ...rest }: DomainPolicyInput): Partial<DomainPolicy> => ({
    userLoginMustBeDomain: rest.userLoginMustBeDomain,
    validateOrgDomains: rest.validateOrgDomains,
    smtpSenderAddressMatchesInstanceDomain: rest.smtpSenderAddressMatchesInstanceDomain,
    ...(usersCanRename !== undefined && { usersCanRename }),
  }),
  show: (values) => values,
})

/** Empty fields get defaults; files are uploaded separately. */
type LabelRequest = Omit<Label, "themeMode" | keyof BrandingFiles> & {
  readonly themeMode: ThemeMode
}

const labelConversions = (addressOf: FileUrlOf) => ({
  read: (request: LabelRequest): Omit<Label, keyof BrandingFiles> => ({
    primaryColor: request.primaryColor || label.standard.primaryColor,
    backgroundColor: request.backgroundColor || label.standard.backgroundColor,
    warnColor: request.warnColor || label.standard.warnColor,
    fontColor: request.fontColor || label.standard.fontColor,
    primaryColorDark: request.primaryColorDark || label.standard.primaryColorDark,
    backgroundColorDark: request.backgroundColorDark || label.standard.backgroundColorDark,
    warnColorDark: request.warnColorDark || label.standard.warnColorDark,
    fontColorDark: request.fontColorDark || label.standard.fontColorDark,
    hideLoginNameSuffix: request.hideLoginNameSuffix,
    disableWatermark: request.disableWatermark,
    themeMode: valueOfEnum([themeModes[0], ...themeModes], request.themeMode),
  }),
  show: ({ themeMode, ...values }: Label, at: PolicyContext) => ({
    ...values,
    themeMode: themeModeMessages[themeMode],
    logoUrl: addressOf(at, "logo", values),
    logoUrlDark: addressOf(at, "logoDark", values),
    iconUrl: addressOf(at, "icon", values),
    iconUrlDark: addressOf(at, "iconDark", values),
    fontUrl: addressOf(at, "font", values),
  }),
})

type FileUrlOf = (at: PolicyContext, field: keyof BrandingFiles, files: BrandingFiles) => string

const themeModeMessages = { auto: ThemeMode.AUTO, dark: ThemeMode.DARK, light: ThemeMode.LIGHT }

export const labelOperations = policyOperations(
  label,
  labelConversions(({ cx, owner }, field, files) => brandingUrl(cx, owner, files[field])),
)

export const previewOperations = policyOperations(
  labelPreview,
  labelConversions(({ cx, place: policyOwner }, field, files) =>
    previewUrl(cx, policyOwner, field, files[field]),
  ),
)

const booleanFields = [
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

const lifetimeFields = [
  "passwordCheckLifetime",
  "externalLoginCheckLifetime",
  "mfaInitSkipLifetime",
  "secondFactorCheckLifetime",
  "multiFactorCheckLifetime",
] as const

type LoginRequest = Pick<Login, (typeof booleanFields)[number] | "defaultRedirectUri"> & {
  readonly [Name in (typeof lifetimeFields)[number]]?: Duration | undefined
} & {
  readonly passwordlessType: PasswordlessType
  readonly allowMagicLink?: boolean | undefined
  readonly forceMfaManagers?: boolean | undefined
  readonly requireSignUpApproval?: boolean | undefined
  readonly secondFactors?: readonly SecondFactorType[]
  readonly multiFactors?: readonly MultiFactorType[]
}

/** Reads login policy values from a request; absent lifetimes get defaults. */
export const parseLogin = (request: LoginRequest): Partial<Login> => ({
  ...pick(request, booleanFields),
  defaultRedirectUri: request.defaultRedirectUri,
  allowPasswordless: request.passwordlessType === PasswordlessType.ALLOWED,
  // If the fields are absent, as from older clients, the values are kept.
  ...(request.allowMagicLink !== undefined && { allowMagicLink: request.allowMagicLink }),
  ...(request.forceMfaManagers !== undefined && { forceMfaManagers: request.forceMfaManagers }),
  ...(request.requireSignUpApproval !== undefined && {
    requireSignUpApproval: request.requireSignUpApproval,
  }),
  ...Object.fromEntries(
    lifetimeFields.map((name) => {
      const duration = request[name]
      return [name, duration ? durationMs(duration) / 1000 : login.standard[name]]
    }),
  ),
  ...(request.secondFactors && {
    secondFactors: unique(request.secondFactors.map(parseSecondFactor)),
  }),
  ...(request.multiFactors && { multiFactors: unique(request.multiFactors.map(parseMultiFactor)) }),
})

export const loginOperations = policyOperations(login, {
  names: { allowPasswordless: ["passwordlessType"] },
  read: parseLogin,
  show: ({ allowPasswordless, ...values }) => ({
    ...values,
    ...toLifetimes(values),
    passwordlessType: allowPasswordless ? PasswordlessType.ALLOWED : PasswordlessType.NOT_ALLOWED,
    secondFactors: values.secondFactors.map((factor) => secondFactorTypes[factor]),
    multiFactors: values.multiFactors.map((factor) => multiFactorTypes[factor]),
  }),
})

const pick = <T, K extends keyof T>(from: T, names: readonly K[]): Partial<Pick<T, K>> =>
  Object.assign({}, ...names.map((name) => ({ [name]: from[name] })))

const unique = <T>(values: readonly T[]): readonly T[] => [...new Set(values)]

/** The lifetimes of a policy as messages. */
export const toLifetimes = (values: Pick<Login, (typeof lifetimeFields)[number]>) => ({
  passwordCheckLifetime: durationFromMs(values.passwordCheckLifetime * 1000),
  externalLoginCheckLifetime: durationFromMs(values.externalLoginCheckLifetime * 1000),
  mfaInitSkipLifetime: durationFromMs(values.mfaInitSkipLifetime * 1000),
  secondFactorCheckLifetime: durationFromMs(values.secondFactorCheckLifetime * 1000),
  multiFactorCheckLifetime: durationFromMs(values.multiFactorCheckLifetime * 1000),
})

/** The numbers of both versions. */
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

export const parseSecondFactor = (type: SecondFactorType): SecondFactor =>
  valueOfEnum(
    {
      [SecondFactorType.OTP]: "otp",
      [SecondFactorType.U2F]: "u2f",
      [SecondFactorType.OTP_EMAIL]: "otp_email",
      [SecondFactorType.OTP_SMS]: "otp_sms",
      [SecondFactorType.RECOVERY_CODES]: "recovery_codes",
    } as const,
    type,
  )

export const parseMultiFactor = (type: MultiFactorType): MultiFactor =>
  valueOfEnum({ [MultiFactorType.U2F_WITH_VERIFICATION]: "u2f_with_verification" } as const, type)
