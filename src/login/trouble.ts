import type { LoginContext, PageContext } from "./context.ts"
import { lookOrgOf } from "./look/labelling.ts"
import { notesFor } from "./note.ts"
import { showTrouble, type Trouble } from "./page.ts"
import { loginPaths, withRequest } from "./path.ts"

type TroubleContext = PageContext & Partial<Pick<LoginContext, "waiting">>

/** Says that something stands in the way; of what was posted, on a page of its own. */
export const trouble = (context: TroubleContext, what: Trouble): Promise<Response> | Response =>
  context.request.method === "POST"
    ? troubles.next(context, { ...what, requestId: context.cx.requestId })
    : troublePage(context, what)

/** Says it where it stands: also to a form that is not from a page of ours. */
export function troublePage(
  { cx, show, browserContext, waiting }: TroubleContext,
  what: Trouble,
): Promise<Response> {
  const languages = waiting?.asked.languages ?? []
  const orgId = lookOrgOf(cx, waiting?.asked)
  const cookies = [browserContext.browser.setCookie]
  const signInHref = waiting && withRequest(loginPaths.loginName, waiting.id)
  return showTrouble(show, cx, { languages, orgId, signInHref, ...what, cookies })
}

/** What a form has met. */
export const troubles = notesFor<Trouble>(loginPaths.trouble)
