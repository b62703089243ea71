import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import {
  MultiFactorType,
  PasswordlessType,
  SecondFactorType,
} from "../../../src/gen/core/policy/v1/policy_pb.ts"
import { check, headed, hinted, lasting, named, type Policy } from "./policy.ts"

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
  ...headed("policy.login"),
  fields: [
    check(named("policy.login.allowUsernamePassword")),
    check(hinted("policy.login.allowMagicLink")),
    check(named("policy.login.disableLoginWithEmail")),
    check(named("policy.login.disableLoginWithPhone")),
    check(hinted("policy.login.ignoreUnknownUsernames")),
    check(hinted("policy.login.hidePasswordReset")),
    lasting(hinted("policy.login.passwordCheckLifetime"), "policy.login.every_time"),
    {
      ...hinted("policy.login.defaultRedirectUri"),
      kind: "text",
      type: "url",
      empty: "policy.none",
    },
    check(hinted("policy.login.allowRegister")),
    check(hinted("policy.login.requireSignUpApproval")),
    check(hinted("policy.login.allowExternalIdp")),
    lasting(named("policy.login.externalLoginCheckLifetime"), "policy.login.every_time"),
    check(hinted("policy.login.allowDomainDiscovery")),
    {
      ...hinted("policy.login.passwordlessType"),
      kind: "choice",
      options: [
        { value: String(PasswordlessType.ALLOWED), label: "policy.login.allowed" },
        { value: String(PasswordlessType.NOT_ALLOWED), label: "policy.login.not_allowed" },
      ],
    },
    check(hinted("policy.login.forceMfa")),
    check(hinted("policy.login.forceMfaLocalOnly")),
    check(hinted("policy.login.forceMfaManagers")),
    {
      ...named("policy.login.secondFactors"),
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
      ...named("policy.login.multiFactors"),
      kind: "several",
      ...several,
      options: [
        {
          value: String(MultiFactorType.U2F_WITH_VERIFICATION),
          label: "policy.login.u2f_with_verification",
        },
      ],
    },
    lasting(hinted("policy.login.mfaInitSkipLifetime"), "policy.login.not_asked"),
    lasting(hinted("policy.login.secondFactorCheckLifetime"), "policy.login.every_time"),
    lasting(named("policy.login.multiFactorCheckLifetime"), "policy.login.every_time"),
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
