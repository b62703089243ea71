import { isScriptRejection } from "../domain/action/index.ts"
import { warmPasswords } from "../domain/credential/index.ts"
import { originsOf } from "../domain/factor/index.ts"
import { isRequestOver } from "../domain/grant/index.ts"
import { callbackPath, providerIdOfPath, tokenPath } from "../domain/idp/index.ts"
import { createArea, type Method, type Route, type Routes } from "../http/route.ts"
import type { Exchange } from "../http/visit.ts"
import { Fault } from "../kernel/fault.ts"
import type { Cx } from "../store/index.ts"
import { renderSheet } from "./appearance/branding.ts"
import { destinationAfterSignIn, type PageContext, type Screen } from "./context.ts"
import { showNoCookies } from "./finished.ts"
import { parseFields, redirectTo } from "./form.ts"
import { loadLoginContext, loadPostedLoginContext } from "./load-context.ts"
import { type ShowPage, showFault } from "./page.ts"
import { loginPaths } from "./path.ts"
import { renderProblem, showProblem } from "./problem.ts"
import { chooseScreen } from "./screen/account/choose.ts"
import { cancelScreen, consentScreen } from "./screen/account/consent.ts"
import { doneScreen } from "./screen/account/done.ts"
import { problemScreen } from "./screen/account/problem.ts"
import { entryScreen, type SignedInHrefs, signedInScreen } from "./screen/account/signed-in.ts"
import { signedOutScreen } from "./screen/account/signed-out.ts"
import { handleCallback, startExternalScreen } from "./screen/external/callback.ts"
import { directoryScreen } from "./screen/external/directory.ts"
import { linkingScreen } from "./screen/external/linking.ts"
import { optionScreen } from "./screen/external/option.ts"
import { serveSamlEndpoint } from "./screen/external/saml.ts"
import { passkeyScreen } from "./screen/factor/passkey.ts"
import { passkeyLinkScreen } from "./screen/factor/passkey-link.ts"
import { remainingCodesScreen } from "./screen/factor/remaining-codes.ts"
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
  approvalPendingScreen,
  registerOrgScreen,
  registerScreen,
} from "./screen/register/register.ts"
import { signUpLinkScreen } from "./screen/register/sign-up-link.ts"
import { loadBrowserContext } from "./session.ts"

export type LoginParts = {
  readonly show: ShowPage
  readonly hrefs: SignedInHrefs
}

type HandlerResult = Promise<Response> | Response
type RouteWrapper = (go: (pageContext: PageContext, url: URL) => HandlerResult) => Route

/** The login pages, and the callbacks of identity providers. */
export function loginRoutes({ show, hrefs }: LoginParts) {
  let isWarmed = false
  const within: RouteWrapper = (go) => ({
    isSignIn: true,
    answer: async ({ cx, request, url }) => {
      if (!isWarmed) void preloadPasswordLibrary(cx)
      isWarmed = true
      try {
        const browserContext = await loadBrowserContext(cx, request)
        const pageContext = { show, cx, request, browserContext }
        return await catchScriptDenial(pageContext, () => go(pageContext, url))
      } catch (cause) {
        if (cause instanceof Fault) return showFault(show, cx, cause)
        throw cause
      }
    },
  })
  const pages = screensOf(hrefs).map((screen) => {
    const route = within((pageContext, url) => runScreen(screen, pageContext, url.searchParams))
    const methods: readonly Method[] = screen.post ? ["GET", "POST"] : ["GET"]
    return [screen.path, { ...route, methods }] as const
  })
  return createArea("login", {
    ...Object.fromEntries(pages),
    "/ui/login/*": { isSignIn: true },
    "/idps/*": { isSignIn: true, isOpen: true },
    [loginPaths.sheet]: {
      isSignIn: true,
      answer: ({ cx, url }) => renderSheet(cx, url.searchParams),
    },
    [loginPaths.origins]: { answer: ({ cx }) => showOrigins(cx) },
    ...callbackRoutes(within(handleCallback)),
    ...samlRoutes(within),
  })
}

/**
 * Loads the password library while the user types and not at startup, so that a server without
 * sign-ins saves its memory.
 */
async function preloadPasswordLibrary(cx: Cx): Promise<void> {
  if ((await warmPasswords()) !== "Bun.password") return
  cx.warn("the argon2 addon can't be loaded; password checks are slower")
}

/** Callbacks of providers; some have their own paths. */
const callbackRoutes = (callback: Route): Routes => ({
  [callbackPath]: callback,
  [tokenPath]: callback,
  "/idps/:id/callback": { ...callback, exists: isProviderPath },
})

/** The SAML endpoints of providers, except for logout. */
function samlRoutes(within: RouteWrapper): Routes {
  const parts = ["metadata", "acs", "start"] as const
  const routes = parts.map((part) => {
    const route = within((pageContext, url) =>
      serveSamlEndpoint(pageContext, { id: providerIdOfPath(url.pathname) ?? "", part }),
    )
    return [`/idps/:id/saml/${part}`, { ...route, exists: isProviderPath }] as const
  })
  return Object.fromEntries(routes)
}

const isProviderPath = ({ url }: Exchange): boolean => providerIdOfPath(url.pathname) !== undefined

/** Shows the message of a script that denied the sign-in. */
async function catchScriptDenial(
  pageContext: PageContext,
  go: () => HandlerResult,
): Promise<Response> {
  try {
    return await go()
  } catch (cause) {
    if (!isScriptRejection(cause)) throw cause
    return showProblem(pageContext, { problem: "not_allowed", status: 403, said: cause.message })
  }
}

async function runScreen(
  screen: Screen,
  pageContext: PageContext,
  search: URLSearchParams,
): Promise<Response> {
  const { method } = pageContext.request
  if (method === "GET" || method === "HEAD") {
    const cookieless = showNoCookies(pageContext)
    if (cookieless !== undefined) return cookieless
    const loginContext = await loadLoginContext(pageContext, search.get("authRequest") ?? "")
    return loginContext instanceof Response ? loginContext : screen.get(loginContext)
  }
  const { post } = screen
  if (!post) throw new Error(`${pageContext.request.url} accepts no POST requests`)
  const fields = await parseFields(pageContext.request)
  if (!fields) return renderProblem(pageContext, { problem: "invalid_request" })
  const loginContext = await loadPostedLoginContext(pageContext, fields)
  if (loginContext instanceof Response) return loginContext
  try {
    return await post(loginContext, fields)
  } catch (cause) {
    // The first click of a double click was faster: the request is complete.
    if (!isRequestOver(cause)) throw cause
    return redirectTo(destinationAfterSignIn(loginContext))
  }
}

/** All pages, in the order of a sign-in. */
const screensOf = (hrefs: SignedInHrefs): readonly Screen[] => [
  entryScreen,
  loginNameScreen,
  passwordScreen,
  passwordChangeScreen,
  passwordExpiryScreen,
  factorScreen,
  factorSetupScreen,
  remainingCodesScreen,
  passkeyScreen,
  registerScreen,
  registerOrgScreen,
  signUpLinkScreen,
  registerVerifyScreen,
  approvalPendingScreen,
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
  problemScreen,
  signedInScreen(hrefs),
  signedOutScreen,
]

/** Browsers request it when a passkey is used under another domain of the instance. */
const showOrigins = (cx: Cx): Response => Response.json({ origins: originsOf(cx) })
