import { isRefusal } from "../domain/action/index.ts"
import { warmPasswords } from "../domain/credential/index.ts"
import { originsOf } from "../domain/factor/index.ts"
import { isRequestOver } from "../domain/grant/index.ts"
import { callbackPath, providerIn, tokenPath } from "../domain/idp/index.ts"
import { areaOf, type Method, type Route, type Routes } from "../http/route.ts"
import type { Exchange } from "../http/visit.ts"
import { Fault } from "../kernel/fault.ts"
import type { Cx } from "../store/index.ts"
import { afterwards, type PageContext, type Screen } from "./context.ts"
import { loginContextOf, postedLoginContext } from "./entrance.ts"
import { showNoCookies } from "./finished.ts"
import { fieldsOf, goTo } from "./form.ts"
import { showSheet } from "./look/branding.ts"
import { type ShowPage, showFault } from "./page.ts"
import { loginPaths } from "./path.ts"
import { chooseScreen } from "./screen/account/choose.ts"
import { cancelScreen, consentScreen } from "./screen/account/consent.ts"
import { doneScreen } from "./screen/account/done.ts"
import { entryScreen, type SignedInHrefs, signedInScreen } from "./screen/account/signed-in.ts"
import { signedOutScreen } from "./screen/account/signed-out.ts"
import { troubleScreen } from "./screen/account/trouble.ts"
import { startExternalScreen, takeCallback } from "./screen/external/callback.ts"
import { directoryScreen } from "./screen/external/directory.ts"
import { linkingScreen } from "./screen/external/linking.ts"
import { optionScreen } from "./screen/external/option.ts"
import { takeSaml } from "./screen/external/saml.ts"
import { passkeyScreen } from "./screen/factor/passkey.ts"
import { passkeyLinkScreen } from "./screen/factor/passkey-link.ts"
import { recoveryLeftScreen } from "./screen/factor/recovery-left.ts"
import { factorSetupScreen } from "./screen/factor/setup.ts"
import { factorScreen } from "./screen/factor/verify.ts"
import { invitePasswordScreen, inviteScreen } from "./screen/link/invite.ts"
import { magicLinkOpenScreen, magicLinkScreen } from "./screen/link/magic-link.ts"
import { newPasswordScreen, passwordDoneScreen, resetScreen } from "./screen/link/reset.ts"
import { verifiedScreen, verifyEmailScreen, verifyPhoneScreen } from "./screen/link/verify.ts"
import { passwordChangeScreen } from "./screen/password/change.ts"
import { passwordExpiryScreen } from "./screen/password/expiry.ts"
import { forgotScreen, forgotSentScreen } from "./screen/password/forgot.ts"
import { loginNameScreen } from "./screen/password/login-name.ts"
import { passwordScreen } from "./screen/password/password.ts"
import { registerPasswordScreen, registerVerifyScreen } from "./screen/register/finish.ts"
import {
  registerOrgScreen,
  registerScreen,
  registerWaitingScreen,
} from "./screen/register/register.ts"
import { signUpLinkScreen } from "./screen/register/sign-up-link.ts"
import { browserContextOf } from "./session.ts"
import { trouble, troublePage } from "./trouble.ts"

export type LoginParts = {
  readonly show: ShowPage
  readonly hrefs: SignedInHrefs
}

type Answer = Promise<Response> | Response
type Within = (go: (pageContext: PageContext, url: URL) => Answer) => Route

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
  const pages = screensOf(hrefs).map((screen) => {
    const route = within((pageContext, url) => answer(screen, pageContext, url.searchParams))
    const methods: readonly Method[] = screen.post ? ["GET", "POST"] : ["GET"]
    return [screen.path, { ...route, methods }] as const
  })
  return areaOf("login", {
    ...Object.fromEntries(pages),
    "/ui/login/*": { isSignIn: true },
    "/idps/*": { isSignIn: true, isOpen: true },
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
  screen: Screen,
  pageContext: PageContext,
  search: URLSearchParams,
): Promise<Response> {
  const { method } = pageContext.request
  if (method === "GET" || method === "HEAD") {
    const cookieless = showNoCookies(pageContext)
    if (cookieless !== undefined) return cookieless
    const loginContext = await loginContextOf(pageContext, search.get("authRequest") ?? "")
    return loginContext instanceof Response ? loginContext : screen.get(loginContext)
  }
  const { post } = screen
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

/** Every screen, by the order of a sign-in. */
const screensOf = (hrefs: SignedInHrefs): readonly Screen[] => [
  entryScreen,
  loginNameScreen,
  passwordScreen,
  passwordChangeScreen,
  passwordExpiryScreen,
  factorScreen,
  factorSetupScreen,
  recoveryLeftScreen,
  passkeyScreen,
  registerScreen,
  registerOrgScreen,
  signUpLinkScreen,
  registerVerifyScreen,
  registerWaitingScreen,
  registerPasswordScreen,
  passkeyLinkScreen,
  chooseScreen,
  startExternalScreen,
  directoryScreen,
  optionScreen,
  linkingScreen,
  consentScreen,
  cancelScreen,
  forgotScreen,
  forgotSentScreen,
  magicLinkScreen,
  magicLinkOpenScreen,
  resetScreen,
  newPasswordScreen,
  passwordDoneScreen,
  doneScreen,
  inviteScreen,
  verifyEmailScreen,
  verifyPhoneScreen,
  verifiedScreen,
  invitePasswordScreen,
  troubleScreen,
  signedInScreen(hrefs),
  signedOutScreen,
]

/** Browsers ask it where a key is used under another domain of the instance. */
const showOrigins = (cx: Cx): Response => Response.json({ origins: originsOf(cx) })
