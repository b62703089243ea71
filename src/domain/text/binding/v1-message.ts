import { bindHandlers } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { type Fault, fieldError } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import {
  allMessageKinds,
  isMessageKind,
  type MessageField,
  type MessageKind,
  messageFields,
} from "../kind.ts"
import { messageTemplate } from "../message.ts"
import { operationsOf } from "../operations.ts"
import { completeMessage } from "../standard/index.ts"

const init = messages("init")
const passwordReset = messages("password_reset")
const verifyEmail = messages("verify_email")
const verifyPhone = messages("verify_phone")
const verifySMSOTP = messages("verify_sms_otp")
const verifyEmailOTP = messages("verify_email_otp")
const domainClaimed = messages("domain_claimed")
const passwordlessRegistration = messages("passwordless_registration")
const passwordChange = messages("password_change")
const inviteUser = messages("invite_user")

export const admin = bindHandlers<Cx>()(AdminService, {
  getDefaultMessageText: byKind(({ instance }) => instance.standard),
  getCustomMessageText: byKind(({ instance }) => instance.get),
  setDefaultMessageText: byKind(({ instance }) => instance.set),
  resetCustomMessageTextToDefault: byKind(({ instance }) => instance.reset),
  getDefaultInitMessageText: init.instance.standard,
  getCustomInitMessageText: init.instance.get,
  setDefaultInitMessageText: init.instance.set,
  resetCustomInitMessageTextToDefault: init.instance.reset,
  getDefaultPasswordResetMessageText: passwordReset.instance.standard,
  getCustomPasswordResetMessageText: passwordReset.instance.get,
  setDefaultPasswordResetMessageText: passwordReset.instance.set,
  resetCustomPasswordResetMessageTextToDefault: passwordReset.instance.reset,
  getDefaultVerifyEmailMessageText: verifyEmail.instance.standard,
  getCustomVerifyEmailMessageText: verifyEmail.instance.get,
  setDefaultVerifyEmailMessageText: verifyEmail.instance.set,
  resetCustomVerifyEmailMessageTextToDefault: verifyEmail.instance.reset,
  getDefaultVerifyPhoneMessageText: verifyPhone.instance.standard,
  getCustomVerifyPhoneMessageText: verifyPhone.instance.get,
  setDefaultVerifyPhoneMessageText: verifyPhone.instance.set,
  resetCustomVerifyPhoneMessageTextToDefault: verifyPhone.instance.reset,
  getDefaultVerifySMSOTPMessageText: verifySMSOTP.instance.standard,
  getCustomVerifySMSOTPMessageText: verifySMSOTP.instance.get,
  setDefaultVerifySMSOTPMessageText: verifySMSOTP.instance.set,
  resetCustomVerifySMSOTPMessageTextToDefault: verifySMSOTP.instance.reset,
  getDefaultVerifyEmailOTPMessageText: verifyEmailOTP.instance.standard,
  getCustomVerifyEmailOTPMessageText: verifyEmailOTP.instance.get,
  setDefaultVerifyEmailOTPMessageText: verifyEmailOTP.instance.set,
  resetCustomVerifyEmailOTPMessageTextToDefault: verifyEmailOTP.instance.reset,
  getDefaultDomainClaimedMessageText: domainClaimed.instance.standard,
  getCustomDomainClaimedMessageText: domainClaimed.instance.get,
  setDefaultDomainClaimedMessageText: domainClaimed.instance.set,
  resetCustomDomainClaimedMessageTextToDefault: domainClaimed.instance.reset,
  getDefaultPasswordlessRegistrationMessageText: passwordlessRegistration.instance.standard,
  getCustomPasswordlessRegistrationMessageText: passwordlessRegistration.instance.get,
  setDefaultPasswordlessRegistrationMessageText: passwordlessRegistration.instance.set,
  resetCustomPasswordlessRegistrationMessageTextToDefault: passwordlessRegistration.instance.reset,
  getDefaultPasswordChangeMessageText: passwordChange.instance.standard,
  getCustomPasswordChangeMessageText: passwordChange.instance.get,
  setDefaultPasswordChangeMessageText: passwordChange.instance.set,
  resetCustomPasswordChangeMessageTextToDefault: passwordChange.instance.reset,
  getDefaultInviteUserMessageText: inviteUser.instance.standard,
  getCustomInviteUserMessageText: inviteUser.instance.get,
  setDefaultInviteUserMessageText: inviteUser.instance.set,
  resetCustomInviteUserMessageTextToDefault: inviteUser.instance.reset,
})

export const management = bindHandlers<Cx>()(ManagementService, {
  getDefaultMessageText: byKind(({ instance }) => instance.get),
  getCustomMessageText: byKind(({ org }) => org.get),
  setCustomMessageText: byKind(({ org }) => org.set),
  resetCustomMessageTextToDefault: byKind(({ org }) => org.reset),
  getDefaultInitMessageText: init.instance.get,
  getCustomInitMessageText: init.org.get,
  setCustomInitMessageText: init.org.set,
  resetCustomInitMessageTextToDefault: init.org.reset,
  getDefaultPasswordResetMessageText: passwordReset.instance.get,
  getCustomPasswordResetMessageText: passwordReset.org.get,
  setCustomPasswordResetMessageText: passwordReset.org.set,
  resetCustomPasswordResetMessageTextToDefault: passwordReset.org.reset,
  getDefaultVerifyEmailMessageText: verifyEmail.instance.get,
  getCustomVerifyEmailMessageText: verifyEmail.org.get,
  setCustomVerifyEmailMessageText: verifyEmail.org.set,
  resetCustomVerifyEmailMessageTextToDefault: verifyEmail.org.reset,
  getDefaultVerifyPhoneMessageText: verifyPhone.instance.get,
  getCustomVerifyPhoneMessageText: verifyPhone.org.get,
  setCustomVerifyPhoneMessageText: verifyPhone.org.set,
  resetCustomVerifyPhoneMessageTextToDefault: verifyPhone.org.reset,
  getDefaultVerifySMSOTPMessageText: verifySMSOTP.instance.get,
  getCustomVerifySMSOTPMessageText: verifySMSOTP.org.get,
  setCustomVerifySMSOTPMessageText: verifySMSOTP.org.set,
  resetCustomVerifySMSOTPMessageTextToDefault: verifySMSOTP.org.reset,
  getDefaultVerifyEmailOTPMessageText: verifyEmailOTP.instance.get,
  getCustomVerifyEmailOTPMessageText: verifyEmailOTP.org.get,
  setCustomVerifyEmailOTPMessageText: verifyEmailOTP.org.set,
  resetCustomVerifyEmailOTPMessageTextToDefault: verifyEmailOTP.org.reset,
  getDefaultDomainClaimedMessageText: domainClaimed.instance.get,
  getCustomDomainClaimedMessageText: domainClaimed.org.get,
  setCustomDomainClaimedMessageCustomText: domainClaimed.org.set,
  resetCustomDomainClaimedMessageTextToDefault: domainClaimed.org.reset,
  getDefaultPasswordlessRegistrationMessageText: passwordlessRegistration.instance.get,
  getCustomPasswordlessRegistrationMessageText: passwordlessRegistration.org.get,
  setCustomPasswordlessRegistrationMessageCustomText: passwordlessRegistration.org.set,
  resetCustomPasswordlessRegistrationMessageTextToDefault: passwordlessRegistration.org.reset,
  getDefaultPasswordChangeMessageText: passwordChange.instance.get,
  getCustomPasswordChangeMessageText: passwordChange.org.get,
  setCustomPasswordChangeMessageCustomText: passwordChange.org.set,
  resetCustomPasswordChangeMessageTextToDefault: passwordChange.org.reset,
  getDefaultInviteUserMessageText: inviteUser.instance.get,
  getCustomInviteUserMessageText: inviteUser.org.get,
  setCustomInviteUserMessageCustomText: inviteUser.org.set,
  resetCustomInviteUserMessageTextToDefault: inviteUser.org.reset,
})

type Requested = { readonly [Field in MessageField]?: string }

/** The v1 operations for one kind of message. */
function messages(kind: MessageKind) {
  return operationsOf(messageTemplate(kind), {
    parse: (requested: Requested) =>
      Object.fromEntries(messageFields.map((field) => [field, requested[field] ?? ""])),
    format: completeMessage,
  })
}

/** The operation for the kind in the request. */
function byKind<Request, Answer>(
  operation: (operations: ReturnType<typeof messages>) => (request: Request, cx: Cx) => Answer,
): (request: Request & { readonly kind: string }, cx: Cx) => Answer {
  return (request, cx) => {
    const { kind } = request
    if (!isMessageKind(kind)) throw kindError()
    return operation(messages(kind))(request, cx)
  }
}

const kindError = (): Fault =>
  fieldError(
    "text.kind_unknown",
    "kind",
    `must be one of: ${Object.keys(allMessageKinds).join(", ")}`,
  )
