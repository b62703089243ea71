import {
  accountOf,
  applicationOf,
  destinationAfterSignIn,
  formTargetOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
} from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { registrationNotice } from "../../part/registration.ts"
import { loginPaths } from "../../path.ts"
import { selectSession } from "../../session.ts"

/** GET: offers the accounts of this browser. */
function showAccounts(loginContext: LoginContext): Promise<Response> | Response {
  const { cx, show, browserContext, waiting } = loginContext
  if (browserContext.present.length === 0)
    return redirectTo(hrefOf(loginContext, loginPaths.loginName))
  const hinted = waiting?.requirements.hintedUser ?? waiting?.requirements.suggestedUser
  // The user of the login_hint is first; the choice remains the user's.
  const first = browserContext.present.filter(({ userId }) => userId === hinted)
  const rest = browserContext.present.filter(({ userId }) => userId !== hinted)
  const accounts = [...first, ...rest].map(({ id, userId }) => ({
    ...accountOf(cx, userId),
    session: id,
    signedIn: true,
  }))
  const form = formTargetOf(loginContext, loginPaths.accounts)
  const otherHref = hrefOf(loginContext, loginPaths.loginName)
  const application = applicationOf(loginContext)
  return show(
    cx,
    (ui, shared) => {
      const notice = registrationNotice(loginContext, shared)
      return ui.AccountPage({ ...shared, form, accounts, otherHref, application, notice })
    },
    optionsOf(loginContext),
  )
}

/** POST: continues with the chosen account, which must be signed in to this browser. */
async function postAccount(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx, browserContext, waiting } = loginContext
  const chosen = browserContext.present.find(({ id }) => id === fields.get("session"))
  if (!chosen) return redirectTo(hrefOf(loginContext, loginPaths.accounts))
  if (waiting) await selectSession(cx, waiting.id, chosen.id)
  return redirectTo(destinationAfterSignIn(loginContext))
}

export const chooseScreen: Screen = {
  path: loginPaths.accounts,
  get: showAccounts,
  post: postAccount,
}
