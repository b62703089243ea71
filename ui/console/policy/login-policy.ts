import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import {
  MultiFactorType,
  PasswordlessType,
  SecondFactorType,
} from "../../../src/gen/core/policy/v1/policy_pb.ts"
import { call } from "../shell/index.ts"
import { withinOwner } from "./effective-policy.ts"
import {
  checkField,
  definePolicy,
  durationField,
  fieldTexts,
  invertField,
  type PolicyOwner,
  policyTexts,
} from "./policy.ts"

const admin = AdminService.method
const management = ManagementService.method

const secondFactorOperations = {
  instance: {
    add: admin.addSecondFactorToLoginPolicy,
    remove: admin.removeSecondFactorFromLoginPolicy,
  },
  organization: {
    add: management.addSecondFactorToLoginPolicy,
    remove: management.removeSecondFactorFromLoginPolicy,
  },
} as const

const multiFactorOperations = {
  instance: {
    add: admin.addMultiFactorToLoginPolicy,
    remove: admin.removeMultiFactorFromLoginPolicy,
  },
  organization: {
    add: management.addMultiFactorToLoginPolicy,
    remove: management.removeMultiFactorFromLoginPolicy,
  },
} as const

const { named, hinted } = fieldTexts("policy.login")

/** How users sign in, and which factors they need. */
export const loginPolicy = definePolicy({
  ...policyTexts("policy.login"),
  fields: [
    checkField(named("allowUsernamePassword")),
    checkField(hinted("allowMagicLink")),
    invertField(named("disableLoginWithEmail")),
    invertField(named("disableLoginWithPhone")),
    checkField(hinted("ignoreUnknownUsernames")),
    invertField(hinted("hidePasswordReset")),
    durationField(hinted("passwordCheckLifetime"), "policy.login.every_time"),
    {
      ...hinted("defaultRedirectUri"),
      kind: "text",
      type: "url",
      empty: "policy.none",
    },
    checkField(hinted("allowRegister")),
    checkField(hinted("requireSignUpApproval")),
    checkField(hinted("allowExternalIdp")),
    durationField(named("externalLoginCheckLifetime"), "policy.login.every_time"),
    checkField(hinted("allowDomainDiscovery")),
    {
      ...hinted("passwordlessType"),
      kind: "choice",
      options: [
        { value: String(PasswordlessType.ALLOWED), label: "policy.login.allowed" },
        { value: String(PasswordlessType.NOT_ALLOWED), label: "policy.login.not_allowed" },
      ],
    },
    checkField(hinted("forceMfa")),
    checkField(hinted("forceMfaLocalOnly")),
    checkField(hinted("forceMfaManagers")),
    {
      ...named("secondFactors"),
      kind: "several",
      ...secondFactorOperations,
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
      ...multiFactorOperations,
      options: [
        {
          value: String(MultiFactorType.U2F_WITH_VERIFICATION),
          label: "policy.login.u2f_with_verification",
        },
      ],
    },
    durationField(hinted("mfaInitSkipLifetime"), "policy.login.not_asked"),
    durationField(hinted("secondFactorCheckLifetime"), "policy.login.every_time"),
    durationField(named("multiFactorCheckLifetime"), "policy.login.every_time"),
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

/**
 * Copies the inherited providers, so that an organization with its own policy keeps offering them.
 */
async function copyProviders(owner: PolicyOwner): Promise<() => Promise<void>> {
  const { result } = await call(management.listLoginPolicyIDPs, {}, withinOwner(owner))
  return async () => {
    for (const { idpId } of result) {
      await call(management.addIDPToLoginPolicy, { idpId }, withinOwner(owner))
    }
  }
}
