/**
 * The fields of v1 that no login page shows, with the reason. They are stored and can be read, and
 * the response to setting one names it.
 */
const reasons: Readonly<Record<string, readonly string[]>> = {
  "users change their user name in their account, not while they sign in": [
    "usernameChangeText.title",
    "usernameChangeText.description",
    "usernameChangeText.usernameLabel",
    "usernameChangeText.cancelButtonText",
    "usernameChangeText.nextButtonText",
    "usernameChangeDoneText.title",
    "usernameChangeDoneText.description",
    "usernameChangeDoneText.nextButtonText",
  ],
  "only accounts that are signed in are offered": [
    "selectAccountText.sessionStateActive",
    "selectAccountText.sessionStateInactive",
  ],
  "loginText.userMustBeMemberOfOrg is shown to all users who are rejected": [
    "selectAccountText.userMustBeMemberOfOrg",
  ],
  "the fields of the sign-in pages have labels and no placeholders": [
    "loginText.userNamePlaceholder",
    "loginText.loginNamePlaceholder",
  ],
  "each provider has a button of its own, without a description": [
    "loginText.externalUserDescription",
    "registrationOptionText.externalLoginDescription",
  ],
  "the rule names a number; see password_rule.length of the hosted login": [
    "passwordText.minLength",
  ],
  "passwords are compared later; see password_change.error.repeat of the hosted login": [
    "passwordText.confirmation",
  ],
  "the page has one way on and no way to cancel": [
    "initPasswordDoneText.cancelButtonText",
    "emailVerificationDoneText.cancelButtonText",
    "initializeDoneText.cancelButtonText",
    "initMfaDoneText.cancelButtonText",
    "linkingUserDoneText.cancelButtonText",
    "passwordlessRegistrationDoneText.cancelButtonText",
  ],
  "where the page leads on, it leads to the sign-in: loginButtonText": [
    "emailVerificationDoneText.nextButtonText",
  ],
  "a new code is requested in the account or from an administrator": [
    "emailVerificationText.resendButtonText",
    "initializeUserText.resendButtonText",
  ],
  "each method has a button of its own": [
    "initMfaPromptText.nextButtonText",
    "passwordlessPromptText.nextButtonText",
  ],
  "the picture and the key are described by one text: description": [
    "initMfaOtpText.descriptionOtp",
  ],
  "users name their keys in their account": [
    "initMfaU2fText.tokenNameLabel",
    "passwordlessRegistrationText.tokenNameLabel",
  ],
  "the password field is on the page that follows the login name": [
    "passwordlessText.loginWithPwButtonText",
  ],
  "the page is shown only where a password has to be replaced: expiredDescription": [
    "passwordChangeText.description",
  ],
  "the current password has just been entered": ["passwordChangeText.oldPasswordLabel"],
  "the sign-in page offers to create an account by loginText.registerButtonText": [
    "registrationOptionText.description",
    "registrationOptionText.userNameButtonText",
  ],
  "the page to create an account leads back by registrationUserText.backButtonText": [
    "registrationOptionText.loginButtonText",
  ],
  "the email address becomes the login name": [
    "registrationUserText.usernameLabel",
    "registrationOrgText.usernameLabel",
  ],
  "the form lacks the field: users complete their profile in their account": [
    "registrationUserText.languageLabel",
    "registrationUserText.genderLabel",
    "externalRegistrationUserOverviewText.nicknameLabel",
    "externalRegistrationUserOverviewText.languageLabel",
    "externalRegistrationUserOverviewText.phoneLabel",
  ],
  "both documents are accepted by one checkbox: tosAndPrivacyLabel": [
    "registrationUserText.tosConfirm",
    "registrationUserText.privacyConfirm",
    "registrationOrgText.tosConfirm",
    "registrationOrgText.privacyConfirm",
  ],
  "providers create accounts without a checkbox for terms; the footer has links": [
    "externalRegistrationUserOverviewText.tosAndPrivacyLabel",
    "externalRegistrationUserOverviewText.tosConfirm",
    "externalRegistrationUserOverviewText.tosLinkText",
    "externalRegistrationUserOverviewText.privacyLinkText",
    "externalRegistrationUserOverviewText.privacyConfirm",
    "externalUserNotFoundText.tosAndPrivacyLabel",
    "externalUserNotFoundText.tosConfirm",
    "externalUserNotFoundText.tosLinkText",
    "externalUserNotFoundText.privacyLinkText",
    "externalUserNotFoundText.privacyConfirm",
  ],
  "the page has one description: externalUserNotFoundText.description": [
    "externalRegistrationUserOverviewText.description",
  ],
  "the form is on the page that offers it, so that nothing leads back": [
    "externalRegistrationUserOverviewText.backButtonText",
  ],
  "the page shows the same text to all users: description": [
    "passwordlessPromptText.descriptionInit",
  ],
  "a passkey is registered in the window that signs in, which stays open": [
    "passwordlessRegistrationDoneText.descriptionClose",
  ],
}

/** The reason by field, as `block.field`. */
export const unshownFields: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(reasons).flatMap(([reason, fields]) => fields.map((field) => [field, reason])),
)
