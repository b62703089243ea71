import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import {
  MultiFactorType,
  PasswordlessType,
  SecondFactorType,
  ThemeMode,
} from "../../../gen/core/policy/v1/policy_pb.ts"
import { SecretGeneratorType } from "../../../gen/core/settings/v1/settings_pb.ts"
import {
  domainPolicy,
  type GeneratorType,
  generatorOf,
  generators,
  type Label,
  type Login,
  labelPreview,
  lockout,
  login,
  notification,
  type Policies,
  type Policy,
  type PolicyEvent,
  passwordAge,
  passwordComplexity,
  policies,
  privacy,
  type Values,
} from "../../policy/index.ts"
import { type Asked, type Past, type Reason, undoing } from "../undo/way.ts"
import { ask, back } from "./v2-undo-ask.ts"

const { method: admin } = AdminService
const { method: management } = ManagementService

type PastPolicies = Past<PolicyEvent, Policies>

/** How one policy is said at each level: whole, as v1 has it. */
type Forms<V extends Values> = {
  readonly instance: (values: V, past: PastPolicies) => Asked | Reason
  readonly change: (values: V, past: PastPolicies) => Asked | Reason
  readonly add: (values: V, past: PastPolicies) => Asked
  readonly reset: (past: PastPolicies) => Asked
}

/** What takes each of the five events of a policy back. */
function waysOf<V extends Values>(policy: Policy<V>, { instance, change, add, reset }: Forms<V>) {
  const { kind, standard } = policy
  const said = ({ before, after, now }: PastPolicies): V => ({
    ...standard,
    ...now[kind]?.values,
    ...back<Values>({ ...standard, ...before[kind]?.values }, { ...after[kind]?.values }),
  })
  const removed = (past: PastPolicies): Asked | Reason => {
    const values = past.before[kind]?.values
    return values ? add({ ...standard, ...values }, past) : "parts"
  }
  return {
    // It is said that what held anyway holds.
    first: (past: PastPolicies): Asked | Reason => unsaid(instance(said(past), past)),
    instance: (past: PastPolicies) => instance(said(past), past),
    added: reset,
    changed: (past: PastPolicies) => change(said(past), past),
    removed,
  }
}

const unsaid = (asked: Asked | Reason): Asked | Reason =>
  typeof asked === "string" ? asked : { ...asked, isLoose: true }

const complexity = waysOf(passwordComplexity, {
  instance: (values) => ask(admin.updatePasswordComplexityPolicy, values),
  change: ({ minLength, ...rest }) =>
    ask(management.updateCustomPasswordComplexityPolicy, { minLength: BigInt(minLength), ...rest }),
  add: ({ minLength, ...rest }) =>
    ask(management.addCustomPasswordComplexityPolicy, { minLength: BigInt(minLength), ...rest }),
  reset: () => ask(management.resetPasswordComplexityPolicyToDefault, {}),
})

const age = waysOf(passwordAge, {
  instance: (values) => ask(admin.updatePasswordAgePolicy, values),
  change: (values) => ask(management.updateCustomPasswordAgePolicy, values),
  add: (values) => ask(management.addCustomPasswordAgePolicy, values),
  reset: () => ask(management.resetPasswordAgePolicyToDefault, {}),
})

const lock = waysOf(lockout, {
  instance: (values) => ask(admin.updateLockoutPolicy, values),
  change: (values) => ask(management.updateCustomLockoutPolicy, values),
  add: (values) => ask(management.addCustomLockoutPolicy, values),
  reset: () => ask(management.resetLockoutPolicyToDefault, {}),
})

const links = waysOf(privacy, {
  instance: (values) => ask(admin.updatePrivacyPolicy, values),
  change: (values) => ask(management.updateCustomPrivacyPolicy, values),
  add: (values) => ask(management.addCustomPrivacyPolicy, values),
  reset: () => ask(management.resetPrivacyPolicyToDefault, {}),
})

const notifications = waysOf(notification, {
  instance: (values) => ask(admin.updateNotificationPolicy, values),
  change: (values) => ask(management.updateCustomNotificationPolicy, values),
  add: (values) => ask(management.addCustomNotificationPolicy, values),
  reset: () => ask(management.resetNotificationPolicyToDefault, {}),
})

const domains = waysOf(domainPolicy, {
  instance: (values) => ask(admin.updateDomainPolicy, values),
  change: (values, { owner }) => ask(admin.updateCustomDomainPolicy, { orgId: owner, ...values }),
  add: (values, { owner }) => ask(admin.addCustomDomainPolicy, { orgId: owner, ...values }),
  reset: ({ owner }) => ask(admin.resetCustomDomainPolicyToDefault, { orgId: owner }),
})

const modes = { auto: ThemeMode.AUTO, dark: ThemeMode.DARK, light: ThemeMode.LIGHT } as const

const lookOf = ({ themeMode, logo, logoDark, icon, iconDark, font, ...rest }: Label) => ({
  ...rest,
  themeMode: modes[themeMode],
})

const look = waysOf(labelPreview, {
  instance: (values) => ask(admin.updateLabelPolicy, lookOf(values)),
  change: (values) => ask(management.updateCustomLabelPolicy, lookOf(values)),
  add: (values) => ask(management.addCustomLabelPolicy, lookOf(values)),
  reset: () => ask(management.resetLabelPolicyToDefault, {}),
})

const second = {
  otp: SecondFactorType.OTP,
  u2f: SecondFactorType.U2F,
  otp_email: SecondFactorType.OTP_EMAIL,
  otp_sms: SecondFactorType.OTP_SMS,
  recovery_codes: SecondFactorType.RECOVERY_CODES,
} as const
const multi = { u2f_with_verification: MultiFactorType.U2F_WITH_VERIFICATION } as const

function loginOf({ secondFactors, multiFactors, allowPasswordless, ...values }: Login) {
  const lasting = (seconds: number) => durationFromMs(seconds * 1000)
  return {
    ...values,
    passwordlessType: allowPasswordless ? PasswordlessType.ALLOWED : PasswordlessType.NOT_ALLOWED,
    passwordCheckLifetime: lasting(values.passwordCheckLifetime),
    externalLoginCheckLifetime: lasting(values.externalLoginCheckLifetime),
    mfaInitSkipLifetime: lasting(values.mfaInitSkipLifetime),
    secondFactorCheckLifetime: lasting(values.secondFactorCheckLifetime),
    multiFactorCheckLifetime: lasting(values.multiFactorCheckLifetime),
  }
}

/** The factors that are allowed change one at a time; in what order they stand says nothing. */
function factorBack(
  { secondFactors, multiFactors }: Login,
  { now }: PastPolicies,
  to: typeof admin | typeof management,
): Asked | undefined {
  const has: Login = { ...login.standard, ...now.login?.values }
  const loose = (asked: Asked): Asked => ({ ...asked, isLoose: true })
  const gone = secondFactors.find((each) => !has.secondFactors.includes(each))
  if (gone) return loose(ask(to.addSecondFactorToLoginPolicy, { type: second[gone] }))
  const more = has.secondFactors.find((each) => !secondFactors.includes(each))
  if (more) return ask(to.removeSecondFactorFromLoginPolicy, { type: second[more] })
  const lost = multiFactors.find((each) => !has.multiFactors.includes(each))
  if (lost) return loose(ask(to.addMultiFactorToLoginPolicy, { type: multi[lost] }))
  const extra = has.multiFactors.find((each) => !multiFactors.includes(each))
  return extra && ask(to.removeMultiFactorFromLoginPolicy, { type: multi[extra] })
}

const signIn = waysOf(login, {
  instance: (values, past) =>
    factorBack(values, past, admin) ?? ask(admin.updateLoginPolicy, loginOf(values)),
  change: (values, past) =>
    factorBack(values, past, management) ??
    ask(management.updateCustomLoginPolicy, loginOf(values)),
  add: (values) =>
    ask(management.addCustomLoginPolicy, {
      ...loginOf(values),
      secondFactors: values.secondFactors.map((factor) => second[factor]),
      multiFactors: values.multiFactors.map((factor) => multi[factor]),
    }),
  reset: () => ask(management.resetLoginPolicyToDefault, {}),
})

export const policyTable = undoing(policies, {
  "instance.policy.domain.added": domains.first,
  "instance.policy.domain.changed": domains.instance,
  "org.policy.domain.added": domains.added,
  "org.policy.domain.changed": domains.changed,
  "org.policy.domain.removed": domains.removed,
  // What everybody sees follows from the preview, when that is activated.
  "instance.policy.label.added": "cascade",
  "instance.policy.label.changed": "cascade",
  "org.policy.label.added": "cascade",
  "org.policy.label.changed": "cascade",
  "org.policy.label.removed": "cascade",
  "instance.policy.label.preview.added": look.first,
  "instance.policy.label.preview.changed": look.instance,
  "org.policy.label.preview.added": look.added,
  "org.policy.label.preview.changed": look.changed,
  "org.policy.label.preview.removed": look.removed,
  "instance.policy.label.assets.removed": "file",
  "org.policy.label.assets.removed": "file",
  "instance.policy.lockout.added": lock.first,
  "instance.policy.lockout.changed": lock.instance,
  "org.policy.lockout.added": lock.added,
  "org.policy.lockout.changed": lock.changed,
  "org.policy.lockout.removed": lock.removed,
  "instance.policy.login.added": signIn.first,
  "instance.policy.login.changed": signIn.instance,
  "org.policy.login.added": signIn.added,
  "org.policy.login.changed": signIn.changed,
  "org.policy.login.removed": signIn.removed,
  "instance.policy.notification.added": notifications.first,
  "instance.policy.notification.changed": notifications.instance,
  "org.policy.notification.added": notifications.added,
  "org.policy.notification.changed": notifications.changed,
  "org.policy.notification.removed": notifications.removed,
  "instance.policy.password.age.added": age.first,
  "instance.policy.password.age.changed": age.instance,
  "org.policy.password.age.added": age.added,
  "org.policy.password.age.changed": age.changed,
  "org.policy.password.age.removed": age.removed,
  "instance.policy.password.complexity.added": complexity.first,
  "instance.policy.password.complexity.changed": complexity.instance,
  "org.policy.password.complexity.added": complexity.added,
  "org.policy.password.complexity.changed": complexity.changed,
  "org.policy.password.complexity.removed": complexity.removed,
  "instance.policy.privacy.added": links.first,
  "instance.policy.privacy.changed": links.instance,
  "org.policy.privacy.added": links.added,
  "org.policy.privacy.changed": links.changed,
  "org.policy.privacy.removed": links.removed,
})

const generatorNumbers: Readonly<Record<GeneratorType, SecretGeneratorType>> = {
  init_code: SecretGeneratorType.INIT_CODE,
  verify_email_code: SecretGeneratorType.VERIFY_EMAIL_CODE,
  verify_phone_code: SecretGeneratorType.VERIFY_PHONE_CODE,
  password_reset_code: SecretGeneratorType.PASSWORD_RESET_CODE,
  passwordless_init_code: SecretGeneratorType.PASSWORDLESS_INIT_CODE,
  app_secret: SecretGeneratorType.APP_SECRET,
  otp_sms: SecretGeneratorType.OTP_SMS,
  otp_email: SecretGeneratorType.OTP_EMAIL,
}

export const generatorTable = undoing(generators, {
  "instance.secret.generator.added": "unsaid",
  "instance.secret.generator.changed": ({ cx, event: { data }, before, after }) => {
    if (!before.generator || !after.generator) return "parts"
    const now = generatorOf(cx, data.generatorType)
    const { expiry, ...rest } = { ...now, ...back(before.generator, after.generator) }
    return ask(admin.updateSecretGenerator, {
      ...rest,
      generatorType: generatorNumbers[data.generatorType],
      expiry: durationFromMs(expiry * 1000),
    })
  },
})
