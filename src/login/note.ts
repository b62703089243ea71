import type { Cx } from "../store/index.ts"
import { goTo } from "./form.ts"
import { withRequest } from "./path.ts"
import type { Waiting } from "./request.ts"
import type { BrowserContext } from "./session.ts"

/** What must be known to read and write notes. */
export type NoteContext = {
  readonly cx: Cx
  readonly request: Request
  readonly browserContext: BrowserContext
  readonly waiting?: Waiting | undefined
}

/** What a page is shown with that a form has brought before; see `notesFor`. */
export type Notes<Note extends object> = {
  /** The address of the page, with a note to it. */
  readonly href: (context: NoteContext, note: Note) => string
  /** The answer to a form: has the browser open the page that shows what came of it. */
  readonly next: (context: NoteContext, note: Note) => Response
  /** The note of the address that was opened; undefined where there is none of ours. */
  readonly of: (context: NoteContext) => Note | undefined
}

/**
 * A form is answered by an address, never by a page, so that Back, Forward and Reload post nothing
 * again. What the page shows stands in its address, sealed: it counts in this browser and for this
 * page alone, is in no log to be read, and needs no store.
 */
export function notesFor<Note extends object>(path: string): Notes<Note> {
  const aboutOf = ({ cx, browserContext }: NoteContext): string =>
    `note/${cx.instance}/${browserContext.browser.id}/${path}`
  const href: Notes<Note>["href"] = (context, note) => {
    const page = withRequest(path, context.waiting?.id ?? "")
    const sealed = context.cx.secrets.seal("cookie", JSON.stringify(note), aboutOf(context))
    return `${page}${page.includes("?") ? "&" : "?"}as=${encodeURIComponent(sealed)}`
  }
  return {
    href,
    next: (context, note) => goTo(href(context, note), context.browserContext.browser.setCookie),
    of: (context) => {
      const sealed = new URL(context.request.url).searchParams.get("as") ?? ""
      const plain = context.cx.secrets.open("cookie", sealed, aboutOf(context))
      return plain === undefined ? undefined : JSON.parse(plain)
    },
  }
}
