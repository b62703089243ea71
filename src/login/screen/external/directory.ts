import { answeredByDirectory } from "../../../domain/federation/index.ts"
import { entranceOf, type Found, noteAnswered } from "../../../domain/idp/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import {
  applicationOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
  targetOf,
} from "../../context.ts"
import { askedOfExternal } from "../../entered/script.ts"
import type { Fields } from "../../form.ts"
import {
  type DirectoryShown,
  directories,
  offeredIdp,
  type DirectoryProblem as Problem,
} from "../../part/provider.ts"
import { accountSecurityPath, loginPaths } from "../../path.ts"
import { trouble } from "../../trouble.ts"
import { linkingBy } from "./linkable.ts"
import { failed, proceed } from "./outcome.ts"

/** The directory, and to whom it is to link who is found there; nobody where it signs in. */
type Asking = { readonly found: Found; readonly linkUserId?: string }

function askingOf(
  loginContext: LoginContext,
  { idpId, ticket = "" }: DirectoryShown,
): Asking | undefined {
  const linking = ticket === "" ? undefined : linkingBy(loginContext, ticket)
  const found = ticket === "" ? offeredIdp(loginContext, idpId) : linking?.found
  if (!found || entranceOf(found.idp.settings) !== "directory") return undefined
  return { found, ...(linking && { linkUserId: linking.userId }) }
}

/** GET of the page that asks for a name and a password of a directory. */
function askDirectory(loginContext: LoginContext): Promise<Response> | Response {
  const { cx, request, waiting } = loginContext
  const named = new URL(request.url).searchParams.get("idp") ?? ""
  const shown = directories.of(loginContext) ?? { idpId: named }
  const { idpId, loginName, ticket, problem } = shown
  const found = askingOf(loginContext, shown)?.found
  if (!found) return trouble(loginContext, { problem: "not_found", status: 404 })
  const page = {
    provider: found.idp.name,
    idpId,
    ticket,
    loginName: loginName ?? waiting?.loginHint,
    form: targetOf(loginContext, loginPaths.directory),
    application: applicationOf(loginContext),
    otherHref: ticket ? accountSecurityPath : hrefOf(loginContext, loginPaths.loginName),
  }
  const retryAfterSeconds =
    problem && "retryAfterSeconds" in problem ? problem.retryAfterSeconds : 0
  return loginContext.show(
    cx,
    (ui, shared) => {
      const minutes = Math.ceil(retryAfterSeconds / 60)
      const error = problem && shared.t(problem.key, { minutes, provider: found.idp.name })
      return ui.DirectoryPage({ ...shared, ...page, error })
    },
    { ...optionsOf(loginContext, statusOf(problem)), retryAfterSeconds },
  )
}

/** RFC 6585 §4 for who tries too often. */
function statusOf(problem: Problem | undefined): number {
  if (problem === undefined) return 200
  return "retryAfterSeconds" in problem ? 429 : 422
}

/** The name and the password were given: the directory says whose they are. */
async function takeDirectory(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx, browserContext, waiting } = loginContext
  const ticket = fields.get("ticket")
  const asking = askingOf(loginContext, { idpId: fields.get("idp"), ticket })
  if (!asking) return trouble(loginContext, { problem: "not_found", status: 404 })
  const { found, ...linking } = asking
  const loginName = fields.get("loginName").trim().slice(0, loginNameMax)
  const again = (problem: Problem) =>
    directories.next(loginContext, { idpId: found.idp.id, loginName, ticket, problem })
  const password = fields.get("password")
  if (password === "") return again({ key: "password.error.missing" })
  try {
    const said = await answeredByDirectory(cx, found, { username: loginName, password })
    const requestId = waiting?.id ?? ""
    const come = { answered: said, requestId, ...linking }
    const answered = await askedOfExternal(loginContext, found, come)
    const begun = {
      idpId: found.idp.id,
      agentId: browserContext.browser.id,
      requestId,
      creatorId: "",
      ...linking,
      answered,
    }
    const { id } = await noteAnswered(cx, found, begun)
    return await proceed(loginContext, { intent: { ...begun, id }, isKept: true })
  } catch (cause) {
    const problem = problemOf(cause)
    if (problem) return again(problem)
    return failed(loginContext, cause)
  }
}

const loginNameMax = 200

/** What the person can do something about, on the same page. */
function problemOf(cause: unknown): Problem | undefined {
  if (!(cause instanceof Fault)) return undefined
  const { id, code, retryAfterSeconds } = cause
  if (id === "idp.credentials_wrong") return { key: "directory.error.wrong" }
  if (retryAfterSeconds !== undefined) {
    return { key: "password.error.too_many_tries", retryAfterSeconds }
  }
  return code === "resource_exhausted" ? { key: "password.error.busy" } : undefined
}

export const directoryScreen: Screen = {
  path: loginPaths.directory,
  get: askDirectory,
  post: takeDirectory,
}
