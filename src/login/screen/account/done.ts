import { destinationAfterSignIn, type LoginContext, optionsOf, type Screen } from "../../context.ts"
import { redirectTo } from "../../form.ts"
import { doneKinds } from "../../part/done.ts"
import { accountSecurityPath, loginPaths } from "../../path.ts"

/** GET: confirms the step and links to the next page. */
function showDone(loginContext: LoginContext): Promise<Response> | Response {
  const { browserContext, waiting, cx, request } = loginContext
  const of = new URL(request.url).searchParams.get("of")
  const kind = doneKinds.find((each) => each === of)
  const newest = browserContext.present.at(-1)
  if (!kind || !newest) return redirectTo(destinationAfterSignIn(loginContext))
  const isOfAccount = kind === "linking" && !waiting
  const nextHref = isOfAccount ? accountSecurityPath : destinationAfterSignIn(loginContext)
  return loginContext.show(
    cx,
    (ui, shared) => ui.StepDonePage({ ...shared, kind, nextHref }),
    optionsOf(loginContext, 200, newest.userId),
  )
}

export const doneScreen: Screen = { path: loginPaths.done, get: showDone }
