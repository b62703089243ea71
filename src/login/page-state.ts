import type { Cx } from "../store/index.ts"
import { redirectTo } from "./form.ts"
import { withRequest } from "./path.ts"
import type { PendingRequest } from "./request.ts"
import type { BrowserContext } from "./session.ts"

/** The context for reading and writing page state. */
export type PageStateContext = {
  readonly cx: Cx
  readonly request: Request
  readonly browserContext: BrowserContext
  readonly waiting?: PendingRequest | undefined
}

/** State of a page after its form was posted; see `pageStateFor`. */
export type PageState<Note extends object> = {
  /** The URL of the page with this state. */
  readonly href: (context: PageStateContext, state: Note) => string
  /** The response to a form: redirects to the page that shows the result. */
  readonly next: (context: PageStateContext, state: Note) => Response
  /** The state in the URL of the request; undefined if it has no valid one. */
  readonly of: (context: PageStateContext) => Note | undefined
}

/**
 * A form is answered with a redirect, never with a page, so that Back, Forward and Reload post
 * nothing again. The state of the page is in its URL, sealed: it is valid only in this browser and
 * for this page, unreadable in logs, and needs no storage.
 */
export function pageStateFor<Note extends object>(path: string): PageState<Note> {
  const aboutOf = ({ cx, browserContext }: PageStateContext): string =>
    `note/${cx.instance}/${browserContext.browser.id}/${path}`
  const href: PageState<Note>["href"] = (context, state) => {
    const page = withRequest(path, context.waiting?.id ?? "")
    const sealed = context.cx.secrets.seal("cookie", JSON.stringify(state), aboutOf(context))
    return `${page}${page.includes("?") ? "&" : "?"}as=${encodeURIComponent(sealed)}`
  }
  return {
    href,
    next: (context, state) =>
      redirectTo(href(context, state), context.browserContext.browser.setCookie),
    of: (context) => {
      const sealed = new URL(context.request.url).searchParams.get("as") ?? ""
      const plain = context.cx.secrets.open("cookie", sealed, aboutOf(context))
      return plain === undefined ? undefined : JSON.parse(plain)
    },
  }
}
