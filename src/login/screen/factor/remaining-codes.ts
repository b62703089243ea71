import {
  accountOf,
  destinationAfterSignIn,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
} from "../../context.ts"
import { redirectTo } from "../../form.ts"
import { pageStateFor } from "../../page-state.ts"
import { accountSecurityPath, loginPaths } from "../../path.ts"

/** A user who has just used a recovery code, and the number of remaining codes. */
type RemainingCodes = { readonly userId: string; readonly left: number }

const remainingCodesState = pageStateFor<RemainingCodes>(loginPaths.recoveryLeft)

/** From this number on, the user is warned after each code. */
const warningThreshold = 3

/** The warning page if few recovery codes remain; undefined otherwise. */
export const remainingCodesHref = (
  loginContext: LoginContext,
  used: RemainingCodes,
): string | undefined =>
  used.left <= warningThreshold ? remainingCodesState.href(loginContext, used) : undefined

/** GET: shows how many codes remain; links to the next page and to new codes. */
function showRemainingCodes(loginContext: LoginContext): Promise<Response> | Response {
  const state = remainingCodesState.of(loginContext)
  if (!state) return redirectTo(destinationAfterSignIn(loginContext))
  const { userId, left } = state
  const page = {
    account: accountOf(loginContext.cx, userId),
    changeHref: hrefOf(loginContext, loginPaths.loginName),
    createHref: accountSecurityPath,
    nextHref: destinationAfterSignIn(loginContext),
    remaining: left,
  }
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => ui.RemainingCodesPage({ ...shared, ...page }),
    optionsOf(loginContext, 200, userId),
  )
}

export const remainingCodesScreen: Screen = {
  path: loginPaths.recoveryLeft,
  get: showRemainingCodes,
}
