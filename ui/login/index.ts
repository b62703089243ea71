export { createBrandingStylesheet } from "../kit/branding.ts"
export { AccessDeniedPage, type AccessDeniedPageProps } from "./access-denied-page.tsx"
export { AccountPage, type AccountPageProps, type KnownAccount } from "./account-page.tsx"
export { ConsentPage, type ConsentPageProps } from "./consent-page.tsx"
export { ContinuePage, type ContinuePageProps } from "./continue-page.tsx"
export {
  DeviceDonePage,
  type DeviceDonePageProps,
  DevicePage,
  type DevicePageProps,
} from "./device-page.tsx"
export { DirectoryPage, type DirectoryPageProps } from "./directory-page.tsx"
export {
  DonePage,
  type DonePageProps,
  StepDonePage,
  type StepDonePageProps,
} from "./done-page.tsx"
export { ErrorPage, type ErrorPageProps, type Problem } from "./error-page.tsx"
export { ExternalPage, type ExternalPageProps } from "./external-page.tsx"
export { type FactorKind, FactorPage, type FactorPageProps } from "./factor/factor-page.tsx"
export { PasskeyLinkPage, type PasskeyLinkPageProps } from "./factor/passkey-link-page.tsx"
export { RemainingCodesPage, type RemainingCodesPageProps } from "./factor/remaining-codes-page.tsx"
export {
  FactorSetupPage,
  type FactorSetupPageProps,
  KeySetupPage,
  type KeySetupPageProps,
  type SetupFactor,
  TotpSetupPage,
  type TotpSetupPageProps,
} from "./factor/setup-page.tsx"
export type { Account, Application, Destination, Grantable, Target } from "./flow.tsx"
export {
  ForgotPage,
  type ForgotPageProps,
  ForgotSentPage,
  type ForgotSentPageProps,
} from "./forgot-page.tsx"
export { FormPostPage, type FormPostPageProps } from "./form-post-page.tsx"
export {
  type Appearance,
  type Assets,
  type FooterLink,
  Frame,
  Heading,
  type PageProps,
  type ThemedImage,
} from "./frame.tsx"
export { HostPage, type HostPageProps } from "./host-page.tsx"
export {
  type FirstPasskey,
  type Linked,
  type LinkKind,
  LinkPage,
  type LinkPageProps,
  LinkPasswordPage,
  type LinkPasswordPageProps,
  type LinkProblem,
} from "./link-page.tsx"
export { LinkingPage, type LinkingPageProps } from "./linking-page.tsx"
export {
  LoginNamePage,
  type LoginNamePageProps,
  type OfferedPasskey,
  type UnknownKey,
} from "./login-name-page.tsx"
export { LogoutPage, type LogoutPageProps } from "./logout-page.tsx"
export {
  MagicLinkElsewherePage,
  type MagicLinkElsewherePageProps,
  MagicLinkPage,
  type MagicLinkPageProps,
} from "./magic-link-page.tsx"
export { PasswordChangePage, type PasswordChangePageProps } from "./password-change-page.tsx"
export { PasswordExpiryPage, type PasswordExpiryPageProps } from "./password-expiry-page.tsx"
export { PasswordPage, type PasswordPageProps } from "./password-page.tsx"
export { formatRules, type PasswordRules } from "./password-rules.ts"
export {
  ApprovalPendingPage,
  type RegisterField,
  RegisterPage,
  type RegisterPageProps,
  type RegisterProblem,
  type RegistrationValues,
} from "./register-page.tsx"
export { renderPage } from "./render.ts"
export { SetupLinkPage } from "./setup-link-page.tsx"
export { type SetupField, SetupPage, type SetupPageProps, setupFields } from "./setup-page.tsx"
export { SignedInPage, type SignedInPageProps } from "./signed-in-page.tsx"
export { SignedOutPage, type SignedOutPageProps } from "./signed-out-page.tsx"
export { SigningOutPage, type SigningOutPageProps } from "./signing-out-page.tsx"
export { Snippet } from "./snippet.tsx"
export { TestPage, type TestPageProps } from "./test-page.tsx"
export { type TextKey, texts, translator, translatorWithTexts } from "./texts/index.ts"
export { TrustPage, type TrustPageProps } from "./trust-page.tsx"
export {
  UnapprovedRedirectPage,
  type UnapprovedRedirectPageProps,
} from "./unapproved-redirect-page.tsx"
