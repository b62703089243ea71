import { serviceProviderOf } from "../../domain/app/index.ts"
import { rolesHeld } from "../../domain/authorization/index.ts"
import { failRequest, type Requested } from "../../domain/grant/index.ts"
import { sessionNow } from "../../domain/session/index.ts"
import { accountOf, askedName, type ShowPage } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { type Written, write } from "../../xml/write.ts"
import { backOf } from "../request/back.ts"
import { type Ready, statementOf, toldOf } from "./complete.ts"

// An administrator tries out how people sign in to an application. All goes as it does for
// everybody, up to the answer: that is a page for the browser in which the administrator is signed
// in, with the assertion that the application would get, which nobody has signed. Nothing is sent.

type Cookies = readonly (string | undefined)[]

/** Ends a test whose person has signed in; undefined where their session has ended meanwhile. */
export async function showTested(
  cx: Cx,
  show: ShowPage,
  { ready, cookies }: { readonly ready: Ready; readonly cookies: Cookies },
): Promise<Response | undefined> {
  const { id, asked, sessionId } = ready
  if (id !== undefined) await cx.store.transact(cx, (tx) => failRequest(tx, id, "tested"))
  const session = sessionNow(cx, sessionId)
  if (!session) return undefined
  const told = await toldOf(cx, ready, session)
  if ("status" in told) {
    const refusal = { error: told.status, description: told.why }
    return showPage(cx, show, { asked, cookies, refusal })
  }
  const { userId } = session
  const projectId = (await serviceProviderOf(cx, asked.appId))?.state.projectId ?? ""
  const roles = rolesHeld(cx, userId, projectId).flatMap(({ keys }) => keys)
  const statement = statementOf(cx, { ready, back: backOf(asked), session, told })
  const result = {
    account: accountOf(cx, userId),
    roles: [...new Set(roles)],
    told: { assertion: inLines(statement) },
  }
  return showPage(cx, show, { asked, cookies, result })
}

type Ui = Parameters<Parameters<ShowPage>[1]>[0]
type Page = Partial<Pick<Parameters<Ui["TestPage"]>[0], "result" | "refusal">> & {
  readonly asked: Requested
  readonly cookies: Cookies
}

/** The page at the end of a test: what the application would be told, or why it would not be. */
export function showPage(cx: Cx, show: ShowPage, page: Page): Promise<Response> {
  const { asked, cookies, result, refusal } = page
  const application = askedName(cx, asked)
  const backHref = `/ui/console/applications/${asked.appId}`
  return show(
    cx,
    (ui, shared) => ui.TestPage({ ...shared, application, backHref, result, refusal }),
    { cookies, status: refusal ? 400 : 200, isFramed: false },
  )
}

/** For people to read: an element in each line, further in by how deep it stands. */
function inLines(node: Written, depth = 0): string {
  const indent = "  ".repeat(depth)
  const declared = depth === 0 ? [] : (["saml"] as const)
  const inside = node.children.filter((child) => typeof child !== "string" && "name" in child)
  if (inside.length === 0) return indent + write(node, declared)
  const end = `</${node.name}>`
  const begin = write({ ...node, children: [] }, declared).slice(0, -end.length)
  const lines = inside.map((child) => inLines(child, depth + 1))
  return [indent + begin, ...lines, indent + end].join("\n")
}
