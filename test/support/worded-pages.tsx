// The sign-in pages for each v1 login text, each as the server renders it.
import { createElement, type ReactElement } from "react"
import * as login from "../../ui/login/index.ts"
import { unloadedAssets } from "./login-sample.tsx"

const form: login.Target = { action: "/ui/login/here", csrf: "csrf", authRequest: "request" }
const account = { displayName: "Ada", loginName: "ada@example.org" }
const known = { form, account, changeHref: "/ui/login" }
const rules: login.PasswordRules = {
  minLength: 10,
  hasUppercase: true,
  hasLowercase: true,
  hasNumber: true,
  hasSymbol: true,
}
const linked = { userId: "1", code: "", key: "", organization: "1", request: "1" }
const application = { name: "Shop", requestedData: [], isConsole: false }
const [signInHref, nextHref, backHref] = ["/in", "/on", "/back"]

/** Every page with a text of its own, in a translator's language. */
export function wordedPages(spoken: Pick<login.PageProps, "t" | "language">): ReactElement[] {
  const base = { ...spoken, assets: unloadedAssets }
  const groups = [signInPages, linkPages, factorPages, providerPages, registrationPages, finalPages]
  return groups.flatMap((group) => group(base))
}

type Base = login.PageProps

const signInPages = (base: Base): ReactElement[] => [
  createElement(login.LoginNamePage, {
    ...base,
    form,
    createHref: "/register",
    passkey: { form, challenge: "sealed", options: "{}" },
    appearance: {
      links: (["register.terms", "register.privacy", "foot.help", "foot.support"] as const).map(
        (name) => ({ href: `/${name}`, name }),
      ),
    },
  }),
  createElement(login.PasswordPage, { ...base, ...known, application, forgotHref: "/forgot" }),
  createElement(login.PasswordChangePage, { ...base, ...known, rules, proof: "sealed" }),
  createElement(login.AccountPage, {
    ...base,
    form,
    otherHref: "/other",
    accounts: [{ ...account, session: "1", signedIn: true }],
  }),
  createElement(login.AccessDeniedPage, {
    ...base,
    ...known,
    application: "Shop",
    barrier: "organisation",
  }),
]

const kinds = ["invite", "reset", "register", "sign_up", "verify_email", "verify_phone"] as const

const linkPages = (base: Base): ReactElement[] => [
  ...kinds.flatMap((kind) =>
    [undefined, "wrong" as const].map((problem) =>
      createElement(login.LinkPage, { ...base, kind, form, linked, problem, onwardHref: nextHref }),
    ),
  ),
  ...(["invite", "reset", "register", "register_org"] as const).map((page) => {
    const t = base.t.on(page)
    const words = {
      title: t("invite.password.title"),
      lead: t("reset.lead"),
      submit: t(page === "reset" ? "reset.submit" : "register.submit"),
    }
    const props = { ...base, ...words, page, form, linked, account, rules }
    return createElement(login.LinkPasswordPage, props)
  }),
  createElement(login.ForgotSentPage, { ...base, backHref }),
  ...(["reset", "verify_email"] as const).map((kind) =>
    createElement(login.DonePage, { ...base, kind, signInHref }),
  ),
]

const factorPages = (base: Base): ReactElement[] => [
  ...(["passkey", "u2f", "otp"] as const).map((factor) =>
    createElement(login.FactorPage, {
      ...base,
      ...known,
      factor,
      kind: factor === "otp" ? factor : "key",
      options: "{}",
      others: (["key", "otp"] as const).map((method) => ({ kind: method, href: `/${method}` })),
    }),
  ),
  ...[true, false].flatMap((isForced) =>
    [["passkey"] as const, ["passkey", "u2f", "otp"] as const].map((ways) =>
      createElement(login.FactorSetupPage, {
        ...base,
        ...known,
        isForced,
        factors: ways,
        isWebAuthnUnavailable: false,
      }),
    ),
  ),
  createElement(login.TotpSetupPage, {
    ...base,
    ...known,
    backHref,
    secret: "JBSWY3DPEHPK3PXP",
    uri: "otpauth://totp/Acme:ada?secret=JBSWY3DPEHPK3PXP",
  }),
  ...(["passkey", "u2f"] as const).map((kind) =>
    createElement(login.KeySetupPage, { ...base, ...known, kind, options: "{}", hidden: {} }),
  ),
]

const identity = {
  userName: "ada",
  givenName: "Ada",
  familyName: "Lovelace",
  displayName: "Ada Lovelace",
  email: "ada@example.org",
}

const providerPages = (base: Base): ReactElement[] => [
  ...[[], [{ ...account, session: "1" }]].map((accounts) =>
    createElement(login.ExternalPage, {
      ...base,
      form,
      intentId: "1",
      provider: "Acme",
      identity,
      accounts,
      mayLink: true,
      mayCreate: true,
      isDomainRefused: false,
    }),
  ),
  createElement(login.LinkingPage, {
    ...base,
    form,
    account,
    identity,
    intentId: "1",
    provider: "Acme",
    accountHref: "/me",
  }),
]

const registrationPages = (base: Base): ReactElement[] => [
  createElement(login.ApprovalPendingPage, { ...base, signInHref: "/ui/login" }),
  ...[
    { isFounder: false },
    { isFounder: false, isOfOrg: true },
    { isFounder: false, orgName: "Acme", needsApproval: true },
    { isFounder: true },
  ].map((method) =>
    createElement(login.RegisterPage, {
      ...base,
      ...method,
      form,
      signInHref,
      acceptValue: "sealed",
      registering: { email: "", givenName: "", familyName: "", organization: "" },
      terms: [
        { name: "register.terms", href: "/terms" },
        { name: "register.privacy", href: "/privacy" },
      ],
    }),
  ),
]

const steps = ["invite", "password_change", "factor_setup", "passkey_setup", "linking"] as const

const finalPages = (base: Base): ReactElement[] => [
  ...steps.map((kind) => createElement(login.StepDonePage, { ...base, kind, nextHref })),
  createElement(login.SignedInPage, { ...base, account, logoutHref: "/out", continueHref: "/on" }),
  createElement(login.ContinuePage, { ...base, application: "Shop", reason: "signed_in" }),
  createElement(login.SignedOutPage, { ...base, signInHref }),
]
