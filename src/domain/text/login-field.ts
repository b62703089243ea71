import type { TextKey } from "../../../ui/login/texts/index.ts"

/**
 * What the login pages say at the fields of v1, as `block.field`; the first key is what is shown as
 * the standard. Fields that no page has yet are kept, and shown by the page that will have them.
 */
export const loginFields: Readonly<Record<string, readonly [TextKey, ...TextKey[]]>> = {
  "selectAccountText.title": ["account.title"],
  "selectAccountText.description": ["account.lead"],
  "selectAccountText.otherUser": ["account.other"],
  "selectAccountText.sessionStateInactive": ["account.signed_out"],
  "loginText.title": ["login_name.title"],
  "loginText.description": ["login_name.lead", "login_name.lead_application"],
  "loginText.loginNameLabel": ["login_name.label"],
  "loginText.nextButtonText": ["login_name.submit"],
  "passwordText.title": ["password.title"],
  "passwordText.passwordLabel": ["password.label"],
  "passwordText.nextButtonText": ["password.submit"],
  "passwordText.resetLinkText": ["password.forgot"],
  "passwordText.hasUppercase": ["password_rule.uppercase"],
  "passwordText.hasLowercase": ["password_rule.lowercase"],
  "passwordText.hasNumber": ["password_rule.number"],
  "passwordText.hasSymbol": ["password_rule.symbol"],
  "passwordChangeText.title": ["password_change.title"],
  "passwordChangeText.expiredDescription": ["password_change.lead"],
  "passwordChangeText.newPasswordLabel": ["password_change.label"],
  "passwordChangeText.newPasswordConfirmLabel": ["password_change.repeat"],
  "passwordChangeText.nextButtonText": ["password_change.submit"],
  "footerText.tos": ["register.terms"],
  "footerText.privacyPolicy": ["register.privacy"],
  "footerText.help": ["foot.help"],
  "footerText.supportEmail": ["foot.support"],
  "initializeUserText.title": ["invite.title"],
  "initializeUserText.description": ["invite.lead"],
  "initializeUserText.codeLabel": ["invite.code"],
  "initializeUserText.nextButtonText": ["invite.submit"],
  "initPasswordText.title": ["invite.password.title"],
  "initPasswordText.description": ["reset.lead"],
  "initPasswordText.codeLabel": ["link.code"],
  "initPasswordDoneText.title": ["reset.done.title"],
  "initPasswordDoneText.description": ["reset.done.lead"],
  "passwordResetDoneText.title": ["forgot.sent.title"],
  "passwordResetDoneText.description": ["forgot.sent.lead"],
  "passwordResetDoneText.nextButtonText": ["forgot.sent.back"],
  "emailVerificationText.title": ["verify_email.title"],
  "emailVerificationText.description": ["verify.lead"],
  "emailVerificationText.nextButtonText": ["verify.submit"],
  "emailVerificationDoneText.title": ["verify_email.done"],
  "emailVerificationDoneText.description": ["verify.done.lead"],
  "successLoginText.title": ["signed_in.title"],
  "successLoginText.redirectedDescription": ["signed_in.lead"],
  "logoutText.title": ["signed_out.title"],
  "logoutText.description": ["signed_out.lead"],
  "logoutText.loginButtonText": ["signed_out.again"],
}

/** Where the texts of v1 stand on the pages, as MessageFormat 2, which these say of their own. */
export const onPages = (said: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(said).flatMap(([field, text]) =>
      (loginFields[field] ?? []).map((key) => [key, patternOf(text)]),
    ),
  )

/** A text that has no values in it, as a message: what would be read as syntax is quoted. */
const patternOf = (text: string): string =>
  /[{}\\]|^\s*\./.test(text) ? `{{${text.replace(/[{}\\]/g, "\\$&")}}}` : text
