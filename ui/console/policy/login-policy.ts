import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import {
  MultiFactorType,
  PasswordlessType,
  SecondFactorType,
} from "../../../src/gen/core/policy/v1/policy_pb.ts"
import { call } from "../shell/index.ts"
import { at } from "./effective-policy.ts"
import { check, fieldsOf, headed, inverted, lasting, type PolicyOwner, policyOf } from "./policy.ts"

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

const { named, hinted } = fieldsOf("policy.login")

/** How people sign in, and what proves who they are. */
export const login = policyOf({
  ...headed("policy.login"),
  fields: [
    check(named("allowUsernamePassword")),
    check(hinted("allowMagicLink")),
    inverted(named("disableLoginWithEmail")),
    inverted(named("disableLoginWithPhone")),
    check(hinted("ignoreUnknownUsernames")),
    inverted(hinted("hidePasswordReset")),
    lasting(hinted("passwordCheckLifetime"), "policy.login.every_time"),
    {
      ...hinted("defaultRedirectUri"),
      kind: "text",
      type: "url",
      empty: "policy.none",
    },
    check(hinted("allowRegister")),
    check(hinted("requireSignUpApproval")),
    check(hinted("allowExternalIdp")),
    lasting(named("externalLoginCheckLifetime"), "policy.login.every_time"),
    check(hinted("allowDomainDiscovery")),
    {
      ...hinted("passwordlessType"),
      kind: "choice",
      options: [
        { value: String(PasswordlessType.ALLOWED), label: "policy.login.allowed" },
        { value: String(PasswordlessType.NOT_ALLOWED), label: "policy.login.not_allowed" },
      ],
    },
    check(hinted("forceMfa")),
    check(hinted("forceMfaLocalOnly")),
    check(hinted("forceMfaManagers")),
    {
      ...named("secondFactors"),
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
      ...named("multiFactors"),
      kind: "several",
      ...several,
      options: [
        {
          value: String(MultiFactorType.U2F_WITH_VERIFICATION),
          label: "policy.login.u2f_with_verification",
        },
      ],
    },
    lasting(hinted("mfaInitSkipLifetime"), "policy.login.not_asked"),
    lasting(hinted("secondFactorCheckLifetime"), "policy.login.every_time"),
    lasting(named("multiFactorCheckLifetime"), "policy.login.every_time"),
  ],
  instance: { get: admin.getLoginPolicy, update: admin.updateLoginPolicy },
  organization: {
    get: management.getLoginPolicy,
    inherited: management.getDefaultLoginPolicy,
    add: management.addCustomLoginPolicy,
    copyInherited: copyProviders,
    update: management.updateCustomLoginPolicy,
    reset: management.resetLoginPolicyToDefault,
  },
})

/** An organization keeps offering the providers that the inherited policy offers. */
async function copyProviders(place: PolicyOwner): Promise<() => Promise<void>> {
  const { result } = await call(management.listLoginPolicyIDPs, {}, at(place))
  return async () => {
    for (const { idpId } of result) {
      await call(management.addIDPToLoginPolicy, { idpId }, at(place))
    }
  }
}
