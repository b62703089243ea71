import { afterwards, type LoginContext, optionsOf, type Screen } from "../../context.ts"
import { goTo } from "../../form.ts"
import { doneKinds } from "../../part/done.ts"
import { accountSecurityPath, loginPaths } from "../../path.ts"

/** GET: says it, and leads on. */
function showDone(loginContext: LoginContext): Promise<Response> | Response {
  const { browserContext, waiting, cx, request } = loginContext
  const of = new URL(request.url).searchParams.get("of")
  const kind = doneKinds.find((each) => each === of)
  const newest = browserContext.present.at(-1)
  if (!kind || !newest) return goTo(afterwards(loginContext))
  const isOfAccount = kind === "linking" && !waiting
  const onwardHref = isOfAccount ? accountSecurityPath : afterwards(loginContext)
  return loginContext.show(
    cx,
    (ui, shared) => ui.StepDonePage({ ...shared, kind, onwardHref }),
    optionsOf(loginContext, 200, newest.userId),
  )
}

export const doneScreen: Screen = { path: loginPaths.done, get: showDone }
