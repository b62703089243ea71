import { findServiceProviderByApp } from "../../domain/app/index.ts"
import { listRolesByOrg } from "../../domain/authorization/index.ts"
import { type AuthorizationRequest, failRequest } from "../../domain/grant/index.ts"
import { findSession } from "../../domain/session/index.ts"
import { accountOf, requestedName, type ShowPage } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { serialize, type XmlNode } from "../../xml/write.ts"
import { responseTargetOf } from "../request/response-target.ts"
import { assertionDataOf, buildUnsignedAssertion, type CompletableRequest } from "./complete.ts"

// An administrator tests how users sign in to an application. Everything happens as for other
// users, except the response: a page for the browser in which the administrator is signed in shows
// the unsigned assertion that the application would receive. Nothing is sent.

type Cookies = readonly (string | undefined)[]

/** Ends a test after sign-in; undefined if the session has ended meanwhile. */
export async function showTestResult(
  cx: Cx,
  show: ShowPage,
  { ready, cookies }: { readonly ready: CompletableRequest; readonly cookies: Cookies },
): Promise<Response | undefined> {
  const { id, asked, sessionId } = ready
  if (id !== undefined) await cx.store.transact(cx, (tx) => failRequest(tx, id, "tested"))
  const session = findSession(cx, sessionId)
  if (!session) return undefined
  const told = await assertionDataOf(cx, ready, session)
  if ("status" in told) {
    const refusal = { error: told.status, description: told.why }
    return showTestPage(cx, show, { asked, cookies, refusal })
  }
  const { userId } = session
  const projectId = (await findServiceProviderByApp(cx, asked.appId))?.state.projectId ?? ""
  const roles = listRolesByOrg(cx, userId, projectId).flatMap(({ keys }) => keys)
  const statement = buildUnsignedAssertion(cx, {
    ready,
    back: responseTargetOf(asked),
    session,
    told,
  })
  const result = {
    account: accountOf(cx, userId),
    roles: [...new Set(roles)],
    received: { assertion: formatXml(statement) },
  }
  return showTestPage(cx, show, { asked, cookies, result })
}

type Ui = Parameters<Parameters<ShowPage>[1]>[0]
type TestPageContent = Partial<Pick<Parameters<Ui["TestPage"]>[0], "result" | "refusal">> & {
  readonly asked: AuthorizationRequest
  readonly cookies: Cookies
}

/** The result of a test: the assertion that the application would receive, or the error. */
export function showTestPage(cx: Cx, show: ShowPage, page: TestPageContent): Promise<Response> {
  const { asked, cookies, result, refusal } = page
  const application = requestedName(cx, asked)
  const backHref = `/ui/console/applications/${asked.appId}`
  return show(
    cx,
    (ui, shared) => ui.TestPage({ ...shared, application, backHref, result, refusal }),
    { cookies, status: refusal ? 400 : 200, isFramed: false },
  )
}

/** For people: each element in its own line, indented. */
function formatXml(node: XmlNode, depth = 0): string {
  const indent = "  ".repeat(depth)
  const declared = depth === 0 ? [] : (["saml"] as const)
  const inside = node.children.filter((child) => typeof child !== "string" && "name" in child)
  if (inside.length === 0) return indent + serialize(node, declared)
  const closingTag = `</${node.name}>`
  const begin = serialize({ ...node, children: [] }, declared).slice(0, -closingTag.length)
  const lines = inside.map((child) => formatXml(child, depth + 1))
  return [indent + begin, ...lines, indent + closingTag].join("\n")
}
