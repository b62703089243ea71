// Every page of the sign-in, with a value in each place for foreign data.
import { createElement, type ReactElement } from "react"
import { problems } from "../../ui/login/error-page.tsx"
import * as login from "../../ui/login/index.ts"

/** The files that pages reference, where none is loaded. */
export const unloadedAssets: login.Assets = {
  css: "/ui/assets/kit.css",
  pageJs: "/ui/assets/page.js",
  icon: "/mark.svg",
}

const form: login.Target = {
  action: "/ui/login/here",
  csrf: "csrf-value",
  authRequest: "request-1",
}
const rules: login.PasswordRules = {
  minLength: 10,
  hasUppercase: true,
  hasLowercase: true,
  hasNumber: false,
  hasSymbol: true,
}
const changeHref = "/ui/login"
const [backHref, signInHref] = ["/in", "/in"]

/** The parts of all samples: the language, and the name given to everything. */
function createSampleContext(language: string, name: string, assets: login.Assets) {
  const account = { displayName: name, loginName: "ada@example.org" }
  return {
    named: name,
    base: { ...login.translator([language]), assets },
    account,
    application: { name: name, requestedData: ["identity", "name", "offline"] as const },
    linked: { userId: name, code: name, key: name, organization: name, request: name },
    /** Pages for a known user. */
    known: { form, account, changeHref },
  }
}

type SampleContext = ReturnType<typeof createSampleContext>
type Samples = Readonly<Record<string, ReactElement>>

/** Every page by its name. The application and the user are called `name`. */
export function loginSamples(
  language: string,
  name: string,
  assets: login.Assets = unloadedAssets,
): Samples {
  const ground = createSampleContext(language, name, assets)
  const groups = [
    signInSamples,
    linkSamples,
    factorSamples,
    registrationSamples,
    applicationSamples,
    finalSamples,
    problemSamples,
  ]
  return Object.assign({}, ...groups.map((group) => group(ground)))
}

const signInSamples = ({
  base,
  application,
  account,
  known: knownUser,
  named,
}: SampleContext): Samples => ({
  loginName: createElement(login.LoginNamePage, {
    ...base,
    form,
    application,
    error: named,
    createHref: "/register",
    passkey: { form, challenge: "sealed", options: "{}" },
    providers: [{ name: named, href: "/provider" }],
  }),
  password: createElement(login.PasswordPage, {
    ...base,
    ...knownUser,
    application,
    forgotHref: "/forgot",
    error: named,
    linkForm: form,
    providers: [{ name: named, href: "/provider" }],
  }),
  passwordChange: createElement(login.PasswordChangePage, {
    ...base,
    ...knownUser,
    rules,
    proof: named,
    errors: { repeat: named },
  }),
  passwordExpiry: createElement(login.PasswordExpiryPage, {
    ...base,
    account,
    changeHref,
    replaceHref: "/other",
    nextHref: "/on",
    days: 3,
  }),
  ...Object.fromEntries(
    [0, 2].map((remaining) => [
      `recoveryLeft.${remaining}`,
      createElement(login.RemainingCodesPage, {
        ...base,
        account,
        changeHref,
        createHref: "/other",
        nextHref: "/on",
        remaining,
      }),
    ]),
  ),
  stepDone: createElement(login.StepDonePage, {
    ...base,
    kind: "linking",
    nextHref: "/on",
  }),
  account: createElement(login.AccountPage, {
    ...base,
    form,
    otherHref: "/o",
    accounts: [{ ...account, session: "1", signedIn: false }],
  }),
  directory: createElement(login.DirectoryPage, {
    ...base,
    form,
    application,
    idpId: "1",
    provider: named,
    loginName: named,
    error: named,
    otherHref: "/o",
  }),
  external: createElement(login.ExternalPage, {
    ...base,
    form,
    application,
    intentId: "1",
    provider: named,
    mayLink: true,
    mayCreate: true,
    isDomainRefused: true,
    problem: "wrong",
    accounts: [{ ...account, session: "1" }],
    identity: {
      userName: named,
      givenName: named,
      familyName: named,
      displayName: named,
      email: "ada@example.org",
    },
  }),
  linking: createElement(login.LinkingPage, {
    ...base,
    form,
    account,
    intentId: "1",
    provider: named,
    accountHref: "/account",
    identity: { userName: named, displayName: named, email: named },
  }),
})

const linkSamples = ({ base, linked, account, application, named }: SampleContext): Samples => ({
  ...Object.fromEntries(
    (["invite", "reset", "verify_email", "verify_phone"] as const).flatMap((kind) => {
      const asked = { ...base, kind, form, linked, onwardHref: "/in" }
      return [
        [kind, createElement(login.LinkPage, asked)],
        [`${kind}Wrong`, createElement(login.LinkPage, { ...asked, problem: "wrong" })],
      ]
    }),
  ),
  linkPassword: createElement(login.LinkPasswordPage, {
    ...base,
    page: "invite",
    form,
    linked,
    account,
    rules,
    title: named,
    lead: named,
    submit: named,
    errors: { password: named },
    passkey: { options: "{}", challenge: "challenge", error: named },
  }),
  ...Object.fromEntries(
    (["first", "only"] as const).map((location) => [
      `invitePasskey.${location}`,
      createElement(login.LinkPasswordPage, {
        ...base,
        page: "invite",
        form,
        linked,
        account,
        rules,
        title: named,
        lead: named,
        submit: named,
        passkey: { options: "{}", challenge: "challenge", place: location },
      }),
    ]),
  ),
  forgot: createElement(login.ForgotPage, {
    ...base,
    form,
    loginName: named,
    error: named,
    backHref,
  }),
  forgotSent: createElement(login.ForgotSentPage, { ...base, backHref }),
  magicLink: createElement(login.MagicLinkPage, {
    ...base,
    form,
    account,
    application,
    backHref,
    link: named,
    isOpened: false,
    error: named,
  }),
  magicLinkOpened: createElement(login.MagicLinkPage, {
    ...base,
    form,
    backHref,
    link: named,
    isOpened: true,
  }),
  magicLinkElsewhere: createElement(login.MagicLinkElsewherePage, {
    ...base,
    signInHref: "/ui/login",
  }),
  resetDone: createElement(login.DonePage, { ...base, kind: "reset", signInHref }),
  verified: createElement(login.DonePage, { ...base, kind: "verify_email", signInHref }),
})

const factorSamples = ({ base, known: knownUser, application, named }: SampleContext): Samples => ({
  ...Object.fromEntries(
    (["key", "otp", "otp_email", "otp_sms", "recovery_codes"] as const).map((method) => [
      `factor.${method}`,
      createElement(login.FactorPage, {
        ...base,
        ...knownUser,
        application,
        kind: method,
        factor: method,
        challenge: "sealed",
        options: "{}",
        error: named,
        others: [{ kind: "otp", href: "/other" }],
      }),
    ]),
  ),
  factorSetup: createElement(login.FactorSetupPage, {
    ...base,
    ...knownUser,
    isForced: false,
    isWebAuthnUnavailable: true,
    error: named,
    factors: ["passkey", "u2f", "otp", "otp_email", "otp_sms"],
  }),
  totpSetup: createElement(login.TotpSetupPage, {
    ...base,
    ...knownUser,
    backHref,
    error: named,
    uri: "otpauth://totp/Acme:ada?secret=JBSWY3DPEHPK3PXP",
    secret: "JBSWY3DPEHPK3PXP",
  }),
  keySetup: createElement(login.KeySetupPage, {
    ...base,
    ...knownUser,
    backHref,
    error: named,
    kind: "passkey",
    options: "{}",
    hidden: { challenge: "sealed" },
  }),
  passkeyLink: createElement(login.PasskeyLinkPage, {
    ...base,
    form,
    userId: named,
    codeId: named,
    linkKey: named,
    error: named,
  }),
})

const registrationSamples = ({ base, named }: SampleContext): Samples => ({
  register: createElement(login.RegisterPage, {
    ...base,
    form,
    signInHref,
    isFounder: true,
    otherHref: "/o",
    acceptValue: "sealed",
    registering: { email: named, givenName: named, familyName: named, organization: named },
    orgName: named,
    needsApproval: true,
    problem: { at: "email", key: "register.error.email" },
    terms: [{ name: "register.terms", href: "/terms" }],
  }),
  waiting: createElement(login.ApprovalPendingPage, { ...base, signInHref: "/ui/login" }),
  setup: createElement(login.SetupPage, {
    ...base,
    form,
    values: { publicUrl: named, organization: named },
    error: named,
    rules,
    seenUrl: named,
    strayUrl: named,
  }),
  setupLink: createElement(login.SetupLinkPage, base),
})

const applicationSamples = ({
  base,
  known: knownUser,
  application,
  account,
  named,
}: SampleContext): Samples => ({
  consent: createElement(login.ConsentPage, {
    ...base,
    ...knownUser,
    session: "1",
    identity: "1",
    userCode: named,
    application: {
      ...application,
      isInDevelopment: true,
      unapprovedDestination: { kind: "web", host: "app.example.org" },
    },
    projects: [{ id: "1", name: named, organization: named }],
    rememberedUntil: Date.UTC(2026, 0, 31),
    apis: [
      {
        id: "2",
        name: named,
        organization: named,
        scopes: [{ scope: named, name: named, description: named }],
      },
    ],
  }),
  barred: createElement(login.AccessDeniedPage, {
    ...base,
    ...knownUser,
    application: named,
    barrier: "roles",
  }),
  device: createElement(login.DevicePage, { ...base, form, userCode: named, error: named }),
  deviceDone: createElement(login.DeviceDonePage, {
    ...base,
    application: named,
    isAllowed: true,
  }),
  formPost: createElement(login.FormPostPage, {
    ...base,
    action: "https://app.example.org/callback",
    fields: { code: named },
    application: named,
  }),
  continue: createElement(login.ContinuePage, {
    ...base,
    application: named,
    reason: "signed_in",
    href: "claude://callback",
  }),
  continueRefused: createElement(login.ContinuePage, {
    ...base,
    application: named,
    reason: "refused",
    href: "claude://callback",
  }),
  continueFinished: createElement(login.ContinuePage, {
    ...base,
    application: named,
    reason: "finished",
  }),
  tested: createElement(login.TestPage, {
    ...base,
    application: named,
    backHref: "/ui/console/",
    result: {
      account,
      roles: [named],
      scopes: ["openid"],
      leftOut: [named],
      claims: [{ name: "email", at: "nowhere", why: "scope", scope: "email" }],
      received: { id_token: { name: named }, userinfo: {}, access_token: "opaque" },
    },
  }),
  testRefused: createElement(login.TestPage, {
    ...base,
    application: named,
    backHref: "/ui/console/",
    refusal: { error: named, description: named, requestId: "1" },
  }),
})

const finalSamples = ({ base, account, named }: SampleContext): Samples => ({
  signedIn: createElement(login.SignedInPage, {
    ...base,
    account,
    logoutHref: "/out",
    accountHref: "/account",
    consoleHref: "/console",
  }),
  signedOut: createElement(login.SignedOutPage, { ...base, signInHref }),
  nobodyHere: createElement(login.SignedOutPage, { ...base, signInHref, hadNoSession: true }),
  signingOut: createElement(login.SigningOutPage, {
    ...base,
    frames: [`/out?${named}`],
    continueHref: "/ui/login/signedout",
  }),
  stranger: createElement(login.UnapprovedRedirectPage, {
    ...base,
    application: named,
    why: "answer",
    host: named,
    href: "/",
    fields: { a: "b" },
  }),
  strangerSignedOut: createElement(login.UnapprovedRedirectPage, {
    ...base,
    application: named,
    why: "signed_out",
    host: "app.example.com",
    href: "/",
  }),
  logout: createElement(login.LogoutPage, {
    ...base,
    form,
    accounts: [account],
    application: named,
    cancelHref: "/",
  }),
})

const problemSamples = ({ base, named }: SampleContext): Samples => ({
  ...Object.fromEntries(
    problems.map((problem) => [
      `error.${problem}`,
      createElement(login.ErrorPage, { ...base, problem, requestId: named, detail: named }),
    ]),
  ),
  host: createElement(login.HostPage, {
    ...base,
    received: named,
    expected: "https://id.example.org",
    upstream: "127.0.0.1:8080",
    forwardedHost: named,
    trustedProxy: false,
  }),
  trust: createElement(login.TrustPage, {
    ...base,
    host: "nas.lan",
    downloadHref: "/ui/trust/root.crt",
    fingerprint: Array(32).fill("A7").join(":"),
  }),
})
