// Authentication methods other than the password.
import type { Row } from "../row.ts"

const users = "user.v2.UserService"
const body = { userId: "$user" }

/** The prerequisites of recovery codes: the policy and another factor. */
const recoveryCodePrerequisites = [
  ["admin.v1.AdminService/AddSecondFactorToLoginPolicy", { type: "SECOND_FACTOR_TYPE_OTP_EMAIL" }],
  [
    "admin.v1.AdminService/AddSecondFactorToLoginPolicy",
    { type: "SECOND_FACTOR_TYPE_RECOVERY_CODES" },
  ],
  [`${users}/AddOTPEmail`, body],
] as const

/** Factors with the same life cycle. */
const otpRows = (
  [
    ["Email", "email"],
    ["SMS", "sms"],
  ] as const
).flatMap(([name, event]): readonly Row[] => [
  {
    call: `${users}/AddOTP${name}`,
    body,
    events: [`user.human.mfa.otp.${event}.added`],
  },
  {
    call: `${users}/AddOTP${name}`,
    name: "twice",
    given: [[`${users}/AddOTP${name}`, body]],
    body,
    code: "already_exists",
    id: `user.otp_${event}_exists`,
  },
  {
    call: `${users}/RemoveOTP${name}`,
    given: [[`${users}/AddOTP${name}`, body]],
    body,
    events: [`user.human.mfa.otp.${event}.removed`],
  },
])

/** The same operations of v1 for the caller. */
const auth = "auth.v1.AuthService"
const myOtpRows = (
  [
    ["Email", "email"],
    ["SMS", "sms"],
  ] as const
).flatMap(([name, event]): readonly Row[] => [
  {
    call: `${auth}/AddMyAuthFactorOTP${name}`,
    as: "user",
    events: [`user.human.mfa.otp.${event}.added`],
  },
  {
    call: `${auth}/RemoveMyAuthFactorOTP${name}`,
    as: "user",
    given: [[`${users}/AddOTP${name}`, body]],
    events: [`user.human.mfa.otp.${event}.removed`],
  },
])
const emptyCredential = { publicKeyCredential: "e30=", tokenName: "Key" }
const myRows: readonly Row[] = [
  ...myOtpRows,
  {
    call: `${auth}/UpdateMyPassword`,
    as: "user",
    body: { oldPassword: "Correct-horse-8", newPassword: "Battery-staple-9" },
    code: "invalid_argument",
    id: "user.password_wrong",
    events: ["user.human.password.check.failed"],
  },
  { call: `${auth}/AddMyAuthFactorOTP`, as: "user", events: ["user.human.mfa.otp.added"] },
  {
    call: `${auth}/VerifyMyAuthFactorOTP`,
    as: "user",
    body: { code: "$totpCode" },
    events: ["user.human.mfa.otp.verified", "user.human.mfa.otp.check.succeeded"],
  },
  {
    call: `${auth}/RemoveMyAuthFactorOTP`,
    as: "user",
    given: [[`${users}/RegisterTOTP`, body]],
    events: ["user.human.mfa.otp.removed"],
  },
  { call: `${auth}/AddMyAuthFactorU2F`, as: "user", events: ["user.human.mfa.u2f.token.added"] },
  {
    call: `${auth}/VerifyMyAuthFactorU2F`,
    as: "user",
    given: [[`${users}/RegisterU2F`, body]],
    body: { verification: emptyCredential },
    code: "invalid_argument",
    id: "user.key_wrong",
  },
  {
    call: `${auth}/RemoveMyAuthFactorU2F`,
    as: "user",
    body: { tokenId: "$securityKey" },
    events: ["user.human.mfa.u2f.token.removed"],
  },
  { call: `${auth}/ListMyPasswordless`, as: "user" },
  {
    call: `${auth}/AddMyPasswordless`,
    as: "user",
    events: ["user.human.passwordless.token.added"],
  },
  {
    call: `${auth}/AddMyPasswordlessLink`,
    as: "user",
    events: [
      "user.human.passwordless.initialization.code.added",
      "user.human.passwordless.initialization.code.requested",
    ],
  },
  {
    call: `${auth}/SendMyPasswordlessLink`,
    as: "user",
    events: [
      "user.human.passwordless.initialization.code.added",
      "user.human.passwordless.initialization.code.requested",
    ],
  },
  {
    call: `${auth}/VerifyMyPasswordless`,
    as: "user",
    given: [[`${users}/RegisterPasskey`, body]],
    body: { verification: emptyCredential },
    code: "invalid_argument",
    id: "user.key_wrong",
  },
  {
    call: `${auth}/RemoveMyPasswordless`,
    as: "user",
    body: { tokenId: "$passkey" },
    events: ["user.human.passwordless.token.removed"],
  },
]

export const factorRows: readonly Row[] = [
  ...otpRows,
  { call: `${users}/RegisterTOTP`, body, events: ["user.human.mfa.otp.added"] },
  {
    call: `${users}/VerifyTOTPRegistration`,
    body: { userId: "$user", code: "$totpCode" },
    events: ["user.human.mfa.otp.verified", "user.human.mfa.otp.check.succeeded"],
  },
  {
    call: `${users}/VerifyTOTPRegistration`,
    name: "with a wrong code, which is counted",
    given: [[`${users}/RegisterTOTP`, body]],
    body: { userId: "$user", code: "12345" },
    code: "invalid_argument",
    id: "user.code_wrong",
    events: ["user.human.mfa.otp.check.failed"],
  },
  {
    call: `${users}/RemoveTOTP`,
    given: [[`${users}/RegisterTOTP`, body]],
    body,
    events: ["user.human.mfa.otp.removed"],
  },
  {
    call: `${users}/GenerateRecoveryCodes`,
    once: true,
    given: recoveryCodePrerequisites,
    body: { userId: "$user", count: 3 },
    events: ["user.human.mfa.recoverycode.added"],
  },
  {
    call: `${users}/GenerateRecoveryCodes`,
    name: "where the login policy does not allow them",
    body,
    code: "failed_precondition",
    id: "user.recovery_codes_not_allowed",
  },
  {
    call: `${users}/RemoveRecoveryCodes`,
    once: true,
    given: [...recoveryCodePrerequisites, [`${users}/GenerateRecoveryCodes`, body]],
    body,
    events: ["user.human.mfa.recoverycode.removed"],
  },
  {
    call: `${users}/RegisterPasskey`,
    as: "user",
    body,
    events: ["user.human.passwordless.token.added"],
  },
  {
    call: `${users}/RegisterPasskey`,
    name: "with a code that is not that of a link",
    body: { userId: "$user", code: { id: "1", code: "wrong" } },
    code: "invalid_argument",
    id: "user.code_wrong",
    events: ["user.human.passwordless.initialization.code.check.failed"],
  },
  {
    call: `${users}/VerifyPasskeyRegistration`,
    name: "with what no key has made",
    body: { userId: "$user", passkeyId: "$passkey", publicKeyCredential: {}, passkeyName: "Key" },
    code: "invalid_argument",
    id: "user.key_wrong",
  },
  {
    call: `${users}/CreatePasskeyRegistrationLink`,
    body: { userId: "$user", returnCode: {} },
    events: [
      "user.human.passwordless.initialization.code.added",
      "user.human.passwordless.initialization.code.requested",
    ],
  },
  { call: `${users}/ListPasskeys`, body, expect: { details: {} } },
  {
    call: `${users}/RenamePasskey`,
    name: "that is not there yet",
    body: { userId: "$user", passkeyId: "$passkey", name: "Phone" },
    code: "not_found",
    id: "user.key_missing",
  },
  {
    call: `${users}/RemovePasskey`,
    body: { userId: "$user", passkeyId: "$passkey" },
    events: ["user.human.passwordless.token.removed"],
  },
  { call: `${users}/RegisterU2F`, body, events: ["user.human.mfa.u2f.token.added"] },
  {
    call: `${users}/RegisterU2F`,
    name: "for a domain that is not the instance's",
    body: { userId: "$user", domain: "elsewhere.example" },
    code: "invalid_argument",
    id: "user.domain_unknown",
  },
  {
    call: `${users}/VerifyU2FRegistration`,
    name: "with what no key has made",
    body: { userId: "$user", u2fId: "$securityKey", publicKeyCredential: {}, tokenName: "Key" },
    code: "invalid_argument",
    id: "user.key_wrong",
  },
  {
    call: `${users}/RemoveU2F`,
    body: { userId: "$user", u2fId: "$securityKey" },
    events: ["user.human.mfa.u2f.token.removed"],
  },
  {
    call: `${users}/ListAuthenticationMethodTypes`,
    given: [[`${users}/AddOTPEmail`, body]],
    body,
    expect: { authMethodTypes: ["AUTHENTICATION_METHOD_TYPE_OTP_EMAIL"] },
  },
  {
    call: `${users}/ListAuthenticationFactors`,
    given: [[`${users}/AddOTPSMS`, body]],
    body,
    expect: { result: [{ state: "AUTH_FACTOR_STATE_READY", otpSms: {} }] },
  },
  { call: `${users}/HumanMFAInitSkipped`, body, events: ["user.human.mfa.init.skipped"] },
  ...myRows,
]
