import { linkingPath } from "../domain/federation/index.ts"
import type { AuthorizationRequest } from "../domain/grant/index.ts"
import { signUpLinkPath } from "../domain/sign-up/index.ts"
import type { Step } from "./flow.ts"

/** Paths of the login pages. */
export const loginPaths = {
  entry: "/ui/login",
  loginName: "/ui/login/loginname",
  password: "/ui/login/password",
  passwordChange: "/ui/login/password/change",
  passwordExpiry: "/ui/login/password/expires",
  forgot: "/ui/login/password/forgot",
  forgotSent: "/ui/login/password/forgot/sent",
  passwordSet: "/ui/login/password/set",
  passwordNew: "/ui/login/password/set/new",
  passwordDone: "/ui/login/password/done",
  done: "/ui/login/done",
  magicLink: "/ui/login/link",
  magicLinkOpen: "/ui/login/link/open",
  /** WebAuthn §5.11: origins that can use the passkeys of this domain. */
  origins: "/.well-known/webauthn",
  factor: "/ui/login/mfa/verify",
  factorSetup: "/ui/login/mfa/set",
  recoveryLeft: "/ui/login/mfa/recovery",
  passkey: "/ui/login/passkey",
  passkeySet: "/ui/login/passkey/set",
  accounts: "/ui/login/accounts",
  externalIdp: "/ui/login/login/externalidp",
  directory: "/ui/login/login/ldap",
  externalOption: "/ui/login/externaluser/option",
  externalLink: linkingPath,
  consent: "/ui/login/consent",
  cancel: "/ui/login/cancel",
  invite: "/ui/login/verify",
  verifyEmail: "/ui/login/verify/email",
  verifyPhone: "/ui/login/verify/phone",
  verified: "/ui/login/verified",
  invitePassword: "/ui/login/verify/password",
  sheet: "/ui/login/branding.css",
  trouble: "/ui/login/error",
  register: "/ui/login/register",
  registerOrg: "/ui/login/register/org",
  signUpLink: signUpLinkPath,
  registerVerify: "/ui/login/register/verify",
  registerWaiting: "/ui/login/register/waiting",
  registerPassword: "/ui/login/register/password",
  signedIn: "/ui/login/signedin",
  signedOut: "/ui/login/signedout",
  /** If no user was signed in. */
  nobodyHere: "/ui/login/signedout?nobody",
} as const

/** Where users manage their credentials and linked accounts. */
export const accountSecurityPath = "/ui/account/security"

/** A path with the ID of the pending request, if there is one. */
export const withRequest = (path: string, requestId: string): string =>
  requestId === "" ? path : `${path}?authRequest=${encodeURIComponent(requestId)}`

/** Where each protocol's endpoint continues a request after the sign-in. */
export const callbackPaths = {
  oauth: "/oauth/v2/authorize/callback",
  saml: "/saml/v2/SSO/callback",
} as const

/** Where a request continues after the sign-in. */
export function continuePath({
  id,
  asked,
}: {
  readonly id: string
  readonly asked: AuthorizationRequest
}) {
  const path = asked.saml ? callbackPaths.saml : callbackPaths.oauth
  return `${path}?id=${encodeURIComponent(id)}`
}

/** A step that has a page. */
export type PageStep = Exclude<Step, { kind: "done" | "refuse" }>

/** The page of a step. */
export function stepPath(step: PageStep, requestId: string): string {
  if (step.kind === "choose") return withRequest(loginPaths.accounts, requestId)
  if (step.kind === "login name") return withRequest(loginPaths.loginName, requestId)
  if (step.kind === "register") return withRequest(loginPaths.register, requestId)
  if (step.kind === "password") return withRequest(loginPaths.password, requestId)
  if (step.kind === "factor") return withRequest(loginPaths.factor, requestId)
  if (step.kind === "set up") return withRequest(loginPaths.factorSetup, requestId)
  return withRequest(loginPaths.consent, requestId)
}
