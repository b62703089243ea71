import {
  accountOf,
  afterwards,
  applicationOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
  targetOf,
} from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { registrationNotice } from "../../part/registration.ts"
import { loginPaths } from "../../path.ts"
import { chooseSession } from "../../session.ts"

/** GET of the choice among the accounts of this browser. */
function askAccount(loginContext: LoginContext): Promise<Response> | Response {
  const { cx, show, browserContext, waiting } = loginContext
  if (browserContext.present.length === 0) return goTo(hrefOf(loginContext, loginPaths.loginName))
  const hinted = waiting?.requirements.hintedUser ?? waiting?.requirements.suggestedUser
  // Whom the application means comes first; the choice is the person's.
  const first = browserContext.present.filter(({ userId }) => userId === hinted)
  const rest = browserContext.present.filter(({ userId }) => userId !== hinted)
  const accounts = [...first, ...rest].map(({ id, userId }) => ({
    ...accountOf(cx, userId),
    session: id,
    signedIn: true,
  }))
  const form = targetOf(loginContext, loginPaths.accounts)
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

/** An account was chosen; it must be one that this browser has. */
async function takeAccount(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx, browserContext, waiting } = loginContext
  const chosen = browserContext.present.find(({ id }) => id === fields.get("session"))
  if (!chosen) return goTo(hrefOf(loginContext, loginPaths.accounts))
  if (waiting) await chooseSession(cx, waiting.id, chosen.id)
  return goTo(afterwards(loginContext))
}

export const chooseScreen: Screen = {
  path: loginPaths.accounts,
  get: askAccount,
  post: takeAccount,
}
