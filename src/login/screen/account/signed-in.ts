import { listMemberships } from "../../../domain/member/index.ts"
import { login, policyFor } from "../../../domain/policy/index.ts"
import { findHomeOrg } from "../../../domain/user-model/index.ts"
import { accountOf, type LoginContext, optionsOf, type Screen } from "../../context.ts"
import { findMissing, type PresentSession } from "../../flow.ts"
import { redirectTo } from "../../form.ts"
import { loginPaths } from "../../path.ts"
import { requirementFor } from "../../policy/factor-requirement.ts"

/**
 * The page after a sign-in without an application; shows the newest account. If a second factor is
 * missing, redirects to the account page, whose own request asks for it.
 */
function showSignedIn(
  loginContext: LoginContext,
  hrefs: SignedInHrefs,
): Promise<Response> | Response {
  const { cx, show, browserContext } = loginContext
  const newest = browserContext.present.at(-1)
  if (!newest) return redirectTo(loginPaths.loginName)
  if (hrefs.account && isFactorMissing(loginContext, newest)) return redirectTo(hrefs.account)
  const account = accountOf(cx, newest.userId)
  const policy = policyFor(
    cx,
    { userId: newest.userId, orgId: findHomeOrg(cx, newest.userId) },
    login,
  )
  const continueHref = policy.defaultRedirectUri || undefined
  const { logout: logoutHref, account: accountHref } = hrefs
  // Users without administrator roles can't use the console.
  const console = listMemberships(cx, newest.userId).length > 0 ? hrefs.console : undefined
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

function isFactorMissing({ cx }: LoginContext, session: PresentSession): boolean {
  const need = requirementFor(cx, session)
  const requirement = { need, since: session.authTime - 1, mustSignIn: false }
  return findMissing(session, requirement, cx.clock.now())?.kind === "factor"
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

/** The sign-in page without an application. */
export const entryScreen: Screen = {
  path: loginPaths.entry,
  get: () => redirectTo(loginPaths.signedIn),
}
