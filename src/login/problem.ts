import { brandingOrgOf } from "./appearance/private-labeling.ts"
import type { LoginContext, PageContext } from "./context.ts"
import { type ErrorPageOptions, showError } from "./page.ts"
import { pageStateFor } from "./page-state.ts"
import { loginPaths, withRequest } from "./path.ts"

type ProblemContext = PageContext & Partial<Pick<LoginContext, "waiting">>

/** Shows a problem; after a form, on a page of its own. */
export const showProblem = (
  context: ProblemContext,
  options: ErrorPageOptions,
): Promise<Response> | Response =>
  context.request.method === "POST"
    ? problemState.next(context, { ...options, requestId: context.cx.requestId })
    : renderProblem(context, options)

/** Shows a problem directly, also for a form that is not from one of our pages. */
export function renderProblem(
  { cx, show, browserContext, waiting }: ProblemContext,
  options: ErrorPageOptions,
): Promise<Response> {
  const languages = waiting?.asked.languages ?? []
  const orgId = brandingOrgOf(cx, waiting?.asked)
  const cookies = [browserContext.browser.setCookie]
  const signInHref = waiting && withRequest(loginPaths.loginName, waiting.id)
  return showError(show, cx, { languages, orgId, signInHref, ...options, cookies })
}

/** State of the problem page. */
export const problemState = pageStateFor<ErrorPageOptions>(loginPaths.trouble)
