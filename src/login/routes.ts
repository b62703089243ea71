import { isRefusal } from "../domain/action/index.ts"
import { isRequestOver } from "../domain/grant/index.ts"
import { callbackPath, providerIn, tokenPath } from "../domain/idp/index.ts"
import { originsOf, warmPasswords } from "../domain/user/index.ts"
import { areaOf, type Method, type Route, type Routes } from "../http/route.ts"
import type { Exchange } from "../http/visit.ts"
import { Fault } from "../kernel/fault.ts"
import type { Cx } from "../store/index.ts"
import { afterwards, hrefOf, type LoginContext, type PageContext } from "./context.ts"
import { loginContextOf, postedLoginContext } from "./entrance.ts"
import { showNoCookies } from "./finished.ts"
import { type Fields, fieldsOf, goTo } from "./form.ts"
import { showSheet } from "./look/branding.ts"
import { type ShowPage, showFault } from "./page.ts"
import { askLink } from "./part/link.ts"
import { loginPaths } from "./path.ts"
import { askConsent, takeCancel, takeConsent } from "./screen/account/consent.ts"
import { showDone } from "./screen/account/done.ts"
import { troubleScreen } from "./screen/account/trouble.ts"
import { startExternal, takeCallback } from "./screen/external/callback.ts"
import { askDirectory, takeDirectory } from "./screen/external/directory.ts"
import { accountPage, askLinking, takeLinking } from "./screen/external/linking.ts"
import { askOption, takeOption } from "./screen/external/option.ts"
import { takeSaml } from "./screen/external/saml.ts"
import {
  askNoPasskey,
  askPasskeyLink,
  takePasskey,
  takePasskeyLink,
} from "./screen/factor/passkey.ts"
import { askRecoveryLeft } from "./screen/factor/recovery-left.ts"
import { askSetup, takeSetup } from "./screen/factor/setup.ts"
import { askFactor, takeFactor } from "./screen/factor/verify.ts"
import { askInvitePassword, takeInvite, takeInvitePassword } from "./screen/link/invite.ts"
import { askMagicLink, openMagicLink, takeMagicLink } from "./screen/link/magic-link.ts"
import {
  askNewPassword,
  showPasswordDone,
  takeNewPassword,
  takeReset,
} from "./screen/link/reset.ts"
import { askVerify, showVerified, takeVerify } from "./screen/link/verify.ts"
import { askPasswordChange, takePasswordChange } from "./screen/password/change.ts"
import { askExpiry } from "./screen/password/expiry.ts"
import { askForgot, showForgotSent, takeForgot } from "./screen/password/forgot.ts"
import {
  askAccount,
  askLoginName,
  askPassword,
  type SignedInHrefs,
  showSignedIn,
  showSignedOut,
  takeAccount,
  takeLoginName,
  takePassword,
} from "./screen/password/password.ts"
import {
  askRegisterPassword,
  takeRegisterCode,
  takeRegisterPassword,
} from "./screen/register/finish.ts"
import { askRegister, showWaiting, takeRegister } from "./screen/register/register.ts"
import { takeSignUpLink } from "./screen/register/sign-up-link.ts"
import { browserContextOf } from "./session.ts"
import { trouble, troublePage } from "./trouble.ts"

export type LoginParts = {
  readonly show: ShowPage
  readonly hrefs: SignedInHrefs
}

type Answer = Promise<Response> | Response
type Within = (go: (pageContext: PageContext, url: URL) => Answer) => Route
type Page = {
  readonly get: (loginContext: LoginContext) => Answer
  readonly post?: (loginContext: LoginContext, fields: Fields) => Answer
}

/** The login pages, and what identity providers send people back to. */
export function loginRoutes({ show, hrefs }: LoginParts) {
  let isWarmed = false
  const within: Within = (go) => ({
    isSignIn: true,
    answer: async ({ cx, request, url }) => {
      if (!isWarmed) void warm(cx)
      isWarmed = true
      try {
        const browserContext = await browserContextOf(cx, request)
        const pageContext = { show, cx, request, browserContext }
        return await unlessRefused(pageContext, () => go(pageContext, url))
      } catch (cause) {
        if (cause instanceof Fault) return showFault(show, cx, cause)
        throw cause
      }
    },
  })
  const pages = Object.entries(pagesOf(hrefs)).map(([path, page]) => {
    const route = within((pageContext, url) => answer(page, pageContext, url.searchParams))
    const methods: readonly Method[] = page.post ? ["GET", "POST"] : ["GET"]
    return [path, { ...route, methods }] as const
  })
  return areaOf("login", {
    ...Object.fromEntries(pages),
    ...{ "/ui/login/*": { isSignIn: true }, "/idps/*": { isSignIn: true, isOpen: true } },
    [loginPaths.sheet]: {
      isSignIn: true,
      answer: ({ cx, url }) => showSheet(cx, url.searchParams),
    },
    [loginPaths.origins]: { answer: ({ cx }) => showOrigins(cx) },
    ...callbackRoutes(within(takeCallback)),
    ...samlRoutes(within),
  })
}

/**
 * Loads the password library while a person still types, and not at start: a server that nobody
 * signs in to does without its memory.
 */
async function warm(cx: Cx): Promise<void> {
  if ((await warmPasswords()) !== "Bun.password") return
  cx.warn("the addon for argon2 can't load here; passwords are checked more slowly")
}

/** Where providers send people back to; some have addresses of their own. */
const callbackRoutes = (callback: Route): Routes => ({
  [callbackPath]: callback,
  [tokenPath]: callback,
  "/idps/:id/callback": { ...callback, exists: ofProvider },
})

/** What a provider that speaks SAML has of us, but for where it signs people out. */
function samlRoutes(within: Within): Routes {
  const parts = ["metadata", "acs", "start"] as const
  const routes = parts.map((part) => {
    const route = within((pageContext, url) =>
      takeSaml(pageContext, { id: providerIn(url.pathname) ?? "", part }),
    )
    return [`/idps/:id/saml/${part}`, { ...route, exists: ofProvider }] as const
  })
  return Object.fromEntries(routes)
}

const ofProvider = ({ url }: Exchange): boolean => providerIn(url.pathname) !== undefined

/** Whom a script keeps out is told so in its words. */
async function unlessRefused(pageContext: PageContext, go: () => Answer): Promise<Response> {
  try {
    return await go()
  } catch (cause) {
    if (!isRefusal(cause)) throw cause
    return trouble(pageContext, { problem: "not_allowed", status: 403, said: cause.message })
  }
}

async function answer(
  page: Page,
  pageContext: PageContext,
  search: URLSearchParams,
): Promise<Response> {
  const { method } = pageContext.request
  if (method === "GET" || method === "HEAD") {
    const cookieless = showNoCookies(pageContext)
    if (cookieless !== undefined) return cookieless
    const loginContext = await loginContextOf(pageContext, search.get("authRequest") ?? "")
    return loginContext instanceof Response ? loginContext : page.get(loginContext)
  }
  const { post } = page
  if (!post) throw new Error(`nothing is posted to ${pageContext.request.url}`)
  const fields = await fieldsOf(pageContext.request)
  if (!fields) return troublePage(pageContext, { problem: "invalid_request" })
  const loginContext = await postedLoginContext(pageContext, fields)
  if (loginContext instanceof Response) return loginContext
  try {
    return await post(loginContext, fields)
  } catch (cause) {
    // The first of two clicks was faster: the request is answered.
    if (!isRequestOver(cause)) throw cause
    return goTo(afterwards(loginContext))
  }
}

const pagesOf = (hrefs: SignedInHrefs): Readonly<Record<string, Page>> => ({
  [loginPaths.entry]: { get: () => goTo(loginPaths.signedIn) },
  [loginPaths.loginName]: { get: askLoginName, post: takeLoginName },
  [loginPaths.password]: { get: askPassword, post: takePassword },
  [loginPaths.passwordChange]: { get: askPasswordChange, post: takePasswordChange },
  [loginPaths.passwordExpiry]: { get: askExpiry },
  [loginPaths.factor]: { get: askFactor, post: takeFactor },
  [loginPaths.factorSetup]: { get: askSetup, post: takeSetup },
  [loginPaths.recoveryLeft]: { get: (loginContext) => askRecoveryLeft(loginContext, accountPage) },
  [loginPaths.passkey]: { get: askNoPasskey, post: takePasskey },
  [loginPaths.register]: { get: askRegister("join"), post: takeRegister("join") },
  [loginPaths.registerOrg]: { get: askRegister("found"), post: takeRegister("found") },
  [loginPaths.signUpLink]: {
    get: (loginContext) => askLink(loginContext, "sign_up"),
    post: takeSignUpLink,
  },
  [loginPaths.registerVerify]: {
    get: (loginContext) => askLink(loginContext, "register"),
    post: takeRegisterCode,
  },
  [loginPaths.registerWaiting]: { get: showWaiting },
  [loginPaths.registerPassword]: { get: askRegisterPassword, post: takeRegisterPassword },
  [loginPaths.passkeySet]: { get: askPasskeyLink, post: takePasskeyLink },
  [loginPaths.accounts]: { get: askAccount, post: takeAccount },
  [loginPaths.externalIdp]: { get: startExternal },
  [loginPaths.directory]: { get: askDirectory, post: takeDirectory },
  [loginPaths.externalOption]: { get: askOption, post: takeOption },
  [loginPaths.externalLink]: { get: askLinking, post: takeLinking },
  [loginPaths.consent]: { get: askConsent, post: takeConsent },
  [loginPaths.cancel]: {
    get: (loginContext) => goTo(hrefOf(loginContext, loginPaths.loginName)),
    post: takeCancel,
  },
  [loginPaths.forgot]: { get: askForgot, post: takeForgot },
  [loginPaths.forgotSent]: { get: showForgotSent },
  [loginPaths.magicLink]: { get: askMagicLink, post: takeMagicLink },
  [loginPaths.magicLinkOpen]: { get: openMagicLink },
  [loginPaths.passwordSet]: {
    get: (loginContext) => askLink(loginContext, "reset"),
    post: takeReset,
  },
  [loginPaths.passwordNew]: { get: askNewPassword, post: takeNewPassword },
  [loginPaths.passwordDone]: { get: showPasswordDone },
  [loginPaths.done]: { get: (loginContext) => showDone(loginContext, accountPage) },
  [loginPaths.invite]: { get: askVerify, post: takeInvite },
  [loginPaths.verifyEmail]: { get: askVerify, post: takeVerify("email") },
  [loginPaths.verifyPhone]: { get: askVerify, post: takeVerify("phone") },
  [loginPaths.verified]: { get: showVerified },
  [loginPaths.invitePassword]: { get: askInvitePassword, post: takeInvitePassword },
  [loginPaths.trouble]: troubleScreen,
  [loginPaths.signedIn]: { get: (loginContext) => showSignedIn(loginContext, hrefs) },
  [loginPaths.signedOut]: { get: showSignedOut },
})

/** Browsers ask it where a key is used under another domain of the instance. */
const showOrigins = (cx: Cx): Response => Response.json({ origins: originsOf(cx) })
