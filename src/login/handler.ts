import { isRefusal } from "../domain/action/index.ts"
import { isRequestOver } from "../domain/grant/index.ts"
import { samlPathOf } from "../domain/idp/index.ts"
import { originsOf } from "../domain/user/index.ts"
import { Fault } from "../kernel/fault.ts"
import type { Cx } from "../store/index.ts"
import { browserContextOf } from "./browser-context.ts"
import { askConsent, takeCancel, takeConsent } from "./consent.ts"
import {
  afterwards,
  hrefOf,
  type LoginContext,
  loginContextOf,
  type PageContext,
  postedLoginContext,
  showTroubled,
  trouble,
  troublePage,
} from "./context.ts"
import { showDone } from "./entered/done.ts"
import { isCallback, startExternal, takeCallback } from "./external/callback.ts"
import { askDirectory, takeDirectory } from "./external/directory.ts"
import { accountPage, askLinking, takeLinking } from "./external/linking.ts"
import { askOption, takeOption } from "./external/option.ts"
import { takeSaml } from "./external/saml.ts"
import { askNoPasskey, askPasskeyLink, takePasskey, takePasskeyLink } from "./factor/passkey.ts"
import { askRecoveryLeft } from "./factor/recovery-left.ts"
import { askSetup, takeSetup } from "./factor/setup.ts"
import { askFactor, takeFactor } from "./factor/verify.ts"
import { showNoCookies } from "./finished.ts"
import { type Fields, fieldsOf, goTo } from "./form.ts"
import { askForgot, showForgotSent, takeForgot } from "./link/forgot.ts"
import { askInvitePassword, takeInvite, takeInvitePassword } from "./link/invite.ts"
import { askLink } from "./link/link.ts"
import { askMagicLink, openMagicLink, takeMagicLink } from "./link/magic-link.ts"
import { askNewPassword, showPasswordDone, takeNewPassword, takeReset } from "./link/reset.ts"
import { askVerify, showVerified, takeVerify } from "./link/verify.ts"
import { showSheet } from "./look/branding.ts"
import { type ShowPage, showFault } from "./page.ts"
import { askPasswordChange, takePasswordChange } from "./password/change.ts"
import { askExpiry } from "./password/expiry.ts"
import { loginPaths } from "./path.ts"
import { askRegisterPassword, takeRegisterCode, takeRegisterPassword } from "./register/finish.ts"
import { askRegister, showWaiting, takeRegister } from "./register/register.ts"
import { takeSignUpLink } from "./register/sign-up-link.ts"
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
} from "./screen.ts"

export type LoginParts = {
  readonly show: ShowPage
  /** Where a request goes on when the login has done its part. */
  readonly onward: LoginContext["onward"]
  readonly answering: LoginContext["answering"]
  readonly hrefs: SignedInHrefs
}

type Answer = Promise<Response> | Response
type Route = {
  readonly get: (loginContext: LoginContext) => Answer
  readonly post?: (loginContext: LoginContext, fields: Fields) => Answer
}

/** Serves the login pages; undefined for paths that aren't theirs. */
export function loginHandler({ show, onward, answering, hrefs }: LoginParts) {
  const routes = routesOf(hrefs)
  return async (request: Request, cx: Cx, url: URL): Promise<Response | undefined> => {
    if (url.pathname === loginPaths.sheet) return showSheet(cx, url.searchParams)
    if (url.pathname === loginPaths.origins) return showOrigins(cx)
    const route = routes[url.pathname]
    const saml = samlPathOf(url.pathname)
    if (!route && !saml && !isCallback(url.pathname)) return undefined
    try {
      const browserContext = await browserContextOf(cx, request)
      const pageContext = { cx, show, request, browserContext, onward, answering }
      return await unlessRefused(pageContext, () =>
        route
          ? answer(route, pageContext, url.searchParams)
          : saml
            ? takeSaml(pageContext, saml)
            : takeCallback(pageContext),
      )
    } catch (cause) {
      if (cause instanceof Fault) return showFault(show, cx, cause)
      throw cause
    }
  }
}

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
  route: Route,
  pageContext: PageContext,
  search: URLSearchParams,
): Promise<Response> {
  const { method } = pageContext.request
  if (method === "GET" || method === "HEAD") {
    const cookieless = showNoCookies(pageContext)
    if (cookieless !== undefined) return cookieless
    const loginContext = await loginContextOf(pageContext, search.get("authRequest") ?? "")
    return loginContext instanceof Response ? loginContext : route.get(loginContext)
  }
  const { post } = route
  if (method !== "POST" || !post) return wrongMethod(post !== undefined)
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

const routesOf = (hrefs: SignedInHrefs): Readonly<Record<string, Route>> => ({
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
  [loginPaths.trouble]: { get: showTroubled },
  [loginPaths.signedIn]: { get: (loginContext) => showSignedIn(loginContext, hrefs) },
  [loginPaths.signedOut]: { get: showSignedOut },
})

/** Browsers ask it where a key is used under another domain of the instance. */
const showOrigins = (cx: Cx): Response => Response.json({ origins: originsOf(cx) })

const wrongMethod = (posts: boolean): Response =>
  new Response(null, { status: 405, headers: { allow: posts ? "GET, HEAD, POST" : "GET, HEAD" } })
