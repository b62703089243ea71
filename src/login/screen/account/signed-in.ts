import { memberships } from "../../../domain/member/index.ts"
import { login, policyFor } from "../../../domain/policy/index.ts"
import { homeOf } from "../../../domain/user-model/index.ts"
import { accountOf, type LoginContext, optionsOf, type Screen } from "../../context.ts"
import { missingFrom, type Present } from "../../flow.ts"
import { goTo } from "../../form.ts"
import { loginPaths } from "../../path.ts"
import { needFor } from "../../policy/need.ts"

/**
 * Signed in, with nowhere to go; the newest account is shown. Where a second factor is missing, the
 * account page comes first, whose own request asks for it.
 */
function showSignedIn(
  loginContext: LoginContext,
  hrefs: SignedInHrefs,
): Promise<Response> | Response {
  const { cx, show, browserContext } = loginContext
  const newest = browserContext.present.at(-1)
  if (!newest) return goTo(loginPaths.loginName)
  if (hrefs.account && isFactorMissing(loginContext, newest)) return goTo(hrefs.account)
  const account = accountOf(cx, newest.userId)
  const policy = policyFor(cx, { userId: newest.userId, orgId: homeOf(cx, newest.userId) }, login)
  const continueHref = policy.defaultRedirectUri || undefined
  const { logout: logoutHref, account: accountHref } = hrefs
  // Whoever manages nothing finds nothing there.
  const console = memberships(cx, newest.userId).length > 0 ? hrefs.console : undefined
  return show(
    cx,
    (ui, shared) =>
      ui.SignedInPage({
        ...shared,
        account,
        logoutHref,
        accountHref,
        continueHref,
        consoleHref: console,
      }),
    optionsOf(loginContext),
  )
}

function isFactorMissing({ cx }: LoginContext, session: Present): boolean {
  const need = needFor(cx, session)
  const requirement = { need, since: session.authTime - 1, mustSignIn: false }
  return missingFrom(session, requirement, cx.clock.now())?.kind === "factor"
}

export type SignedInHrefs = {
  readonly logout: string
  readonly account?: string
  readonly console?: string | undefined
}

export const signedInScreen = (hrefs: SignedInHrefs): Screen => ({
  path: loginPaths.signedIn,
  get: (loginContext) => showSignedIn(loginContext, hrefs),
})

/** What is called the sign-in where no application is named. */
export const entryScreen: Screen = {
  path: loginPaths.entry,
  get: () => goTo(loginPaths.signedIn),
}
