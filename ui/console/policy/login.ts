import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import {
  MultiFactorType,
  PasswordlessType,
  SecondFactorType,
} from "../../../src/gen/core/policy/v1/policy_pb.ts"
import { check, lasting, type Policy } from "./policy.ts"

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
    check("allowUsernamePassword", "policy.login.allowUsernamePassword"),
    check("allowMagicLink", "policy.login.allowMagicLink", "policy.login.allowMagicLink.hint"),
    check("disableLoginWithEmail", "policy.login.disableLoginWithEmail"),
    check("disableLoginWithPhone", "policy.login.disableLoginWithPhone"),
    check(
      "hidePasswordReset",
      "policy.login.hidePasswordReset",
      "policy.login.hidePasswordReset.hint",
    ),
    lasting(
      "passwordCheckLifetime",
      "policy.login.passwordCheckLifetime",
      "policy.login.every_time",
      "policy.login.passwordCheckLifetime.hint",
    ),
    {
      name: "defaultRedirectUri",
      label: "policy.login.defaultRedirectUri",
      hint: "policy.login.defaultRedirectUri.hint",
      kind: "text",
      type: "url",
      empty: "policy.none",
    },
    check("allowRegister", "policy.login.allowRegister", "policy.login.allowRegister.hint"),
    check(
      "allowExternalIdp",
      "policy.login.allowExternalIdp",
      "policy.login.allowExternalIdp.hint",
    ),
    lasting(
      "externalLoginCheckLifetime",
      "policy.login.externalLoginCheckLifetime",
      "policy.login.every_time",
    ),
    check(
      "allowDomainDiscovery",
      "policy.login.allowDomainDiscovery",
      "policy.login.allowDomainDiscovery.hint",
    ),
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
    check("forceMfa", "policy.login.forceMfa", "policy.login.forceMfa.hint"),
    check(
      "forceMfaLocalOnly",
      "policy.login.forceMfaLocalOnly",
      "policy.login.forceMfaLocalOnly.hint",
    ),
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
    lasting(
      "mfaInitSkipLifetime",
      "policy.login.mfaInitSkipLifetime",
      "policy.login.not_asked",
      "policy.login.mfaInitSkipLifetime.hint",
    ),
    lasting(
      "secondFactorCheckLifetime",
      "policy.login.secondFactorCheckLifetime",
      "policy.login.every_time",
      "policy.login.secondFactorCheckLifetime.hint",
    ),
    lasting(
      "multiFactorCheckLifetime",
      "policy.login.multiFactorCheckLifetime",
      "policy.login.every_time",
    ),
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
