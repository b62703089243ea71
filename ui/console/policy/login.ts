import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import {
  MultiFactorType,
  PasswordlessType,
  SecondFactorType,
} from "../../../src/gen/core/policy/v1/policy_pb.ts"
import type { Policy } from "./policy.ts"

const admin = AdminService.method
const management = ManagementService.method

const second = {
  instance: {
    add: admin.addSecondFactorToLoginPolicy,
    remove: admin.removeSecondFactorFromLoginPolicy,
  },
  organization: {
    add: management.addSecondFactorToLoginPolicy,
    remove: management.removeSecondFactorFromLoginPolicy,
  },
} as const

const several = {
  instance: {
    add: admin.addMultiFactorToLoginPolicy,
    remove: admin.removeMultiFactorFromLoginPolicy,
  },
  organization: {
    add: management.addMultiFactorToLoginPolicy,
    remove: management.removeMultiFactorFromLoginPolicy,
  },
} as const

/** How people sign in, and what proves who they are. */
export const login: Policy = {
  name: "login",
  title: "policy.login",
  lead: "policy.login.lead",
  fields: [
    {
      name: "allowUsernamePassword",
      label: "policy.login.allowUsernamePassword",
      kind: "check",
    },
    {
      name: "allowMagicLink",
      label: "policy.login.allowMagicLink",
      hint: "policy.login.allowMagicLink.hint",
      kind: "check",
    },
    {
      name: "hidePasswordReset",
      label: "policy.login.hidePasswordReset",
      hint: "policy.login.hidePasswordReset.hint",
      kind: "check",
    },
    {
      name: "passwordCheckLifetime",
      label: "policy.login.passwordCheckLifetime",
      hint: "policy.login.passwordCheckLifetime.hint",
      kind: "duration",
      zero: "policy.login.every_time",
    },
    {
      name: "defaultRedirectUri",
      label: "policy.login.defaultRedirectUri",
      hint: "policy.login.defaultRedirectUri.hint",
      kind: "text",
      type: "url",
      empty: "policy.none",
    },
    {
      name: "allowRegister",
      label: "policy.login.allowRegister",
      hint: "policy.login.allowRegister.hint",
      kind: "check",
    },
    {
      name: "allowExternalIdp",
      label: "policy.login.allowExternalIdp",
      hint: "policy.login.allowExternalIdp.hint",
      kind: "check",
    },
    {
      name: "externalLoginCheckLifetime",
      label: "policy.login.externalLoginCheckLifetime",
      kind: "duration",
      zero: "policy.login.every_time",
    },
    {
      name: "allowDomainDiscovery",
      label: "policy.login.allowDomainDiscovery",
      hint: "policy.login.allowDomainDiscovery.hint",
      kind: "check",
    },
    {
      name: "passwordlessType",
      label: "policy.login.passwordlessType",
      hint: "policy.login.passwordlessType.hint",
      kind: "choice",
      options: [
        { value: String(PasswordlessType.ALLOWED), label: "policy.login.allowed" },
        { value: String(PasswordlessType.NOT_ALLOWED), label: "policy.login.not_allowed" },
      ],
    },
    {
      name: "forceMfa",
      label: "policy.login.forceMfa",
      hint: "policy.login.forceMfa.hint",
      kind: "check",
    },
    {
      name: "forceMfaLocalOnly",
      label: "policy.login.forceMfaLocalOnly",
      hint: "policy.login.forceMfaLocalOnly.hint",
      kind: "check",
    },
    {
      name: "secondFactors",
      label: "policy.login.secondFactors",
      kind: "several",
      ...second,
      options: [
        { value: String(SecondFactorType.OTP), label: "policy.login.otp" },
        { value: String(SecondFactorType.U2F), label: "policy.login.u2f" },
        { value: String(SecondFactorType.OTP_EMAIL), label: "policy.login.otp_email" },
        { value: String(SecondFactorType.OTP_SMS), label: "policy.login.otp_sms" },
        { value: String(SecondFactorType.RECOVERY_CODES), label: "policy.login.recovery_codes" },
      ],
    },
    {
      name: "multiFactors",
      label: "policy.login.multiFactors",
      kind: "several",
      ...several,
      options: [
        {
          value: String(MultiFactorType.U2F_WITH_VERIFICATION),
          label: "policy.login.u2f_with_verification",
        },
      ],
    },
    {
      name: "mfaInitSkipLifetime",
      label: "policy.login.mfaInitSkipLifetime",
      hint: "policy.login.mfaInitSkipLifetime.hint",
      kind: "duration",
      zero: "policy.login.not_asked",
    },
    {
      name: "secondFactorCheckLifetime",
      label: "policy.login.secondFactorCheckLifetime",
      hint: "policy.login.secondFactorCheckLifetime.hint",
      kind: "duration",
      zero: "policy.login.every_time",
    },
    {
      name: "multiFactorCheckLifetime",
      label: "policy.login.multiFactorCheckLifetime",
      kind: "duration",
      zero: "policy.login.every_time",
    },
  ],
  instance: { get: admin.getLoginPolicy, update: admin.updateLoginPolicy },
  organization: {
    get: management.getLoginPolicy,
    inherited: management.getDefaultLoginPolicy,
    add: management.addCustomLoginPolicy,
    carries: {
      list: management.listLoginPolicyIDPs,
      add: management.addIDPToLoginPolicy,
      id: "idpId",
    },
    update: management.updateCustomLoginPolicy,
    reset: management.resetLoginPolicyToDefault,
  },
}
