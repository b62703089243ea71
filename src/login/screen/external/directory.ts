import { authenticateWithDirectory } from "../../../domain/federation/index.ts"
import { createAnsweredIntent, type OwnedIdp, signInMethodOf } from "../../../domain/idp/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import {
  applicationOf,
  formTargetOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
} from "../../context.ts"
import type { Fields } from "../../form.ts"
import {
  type DirectoryState,
  directoryState,
  findOfferedProvider,
  type DirectoryProblem as Problem,
} from "../../part/provider.ts"
import { accountSecurityPath, loginPaths } from "../../path.ts"
import { showProblem } from "../../problem.ts"
import { runExternalScripts } from "../../sign-in/script.ts"
import { findLinkableByTicket } from "./linkable.ts"
import { continueWithIntent, showProviderFailure } from "./outcome.ts"

/** The directory, and the user to link; without one it signs in. */
type DirectoryRequest = { readonly found: OwnedIdp; readonly linkUserId?: string }

function directoryRequestOf(
  loginContext: LoginContext,
  { idpId, ticket = "" }: DirectoryState,
): DirectoryRequest | undefined {
  const linking = ticket === "" ? undefined : findLinkableByTicket(loginContext, ticket)
  const found = ticket === "" ? findOfferedProvider(loginContext, idpId) : linking?.found
  if (!found || signInMethodOf(found.idp.settings) !== "directory") return undefined
  return { found, ...(linking && { linkUserId: linking.userId }) }
}

/** GET: asks for directory credentials. */
function showDirectory(loginContext: LoginContext): Promise<Response> | Response {
  const { cx, request, waiting } = loginContext
  const idpParameter = new URL(request.url).searchParams.get("idp") ?? ""
  const state = directoryState.of(loginContext) ?? { idpId: idpParameter }
  const { idpId, loginName, ticket, problem } = state
  const found = directoryRequestOf(loginContext, state)?.found
  if (!found) return showProblem(loginContext, { problem: "not_found", status: 404 })
  const page = {
    provider: found.idp.name,
    idpId,
    ticket,
    loginName: loginName ?? waiting?.loginHint,
    form: formTargetOf(loginContext, loginPaths.directory),
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

/** The HTTP status for a problem; RFC 6585 §4 for too many attempts. */
function statusOf(problem: Problem | undefined): number {
  if (problem === undefined) return 200
  return "retryAfterSeconds" in problem ? 429 : 422
}

/** POST: checks the credentials with the directory. */
async function postDirectory(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx, browserContext, waiting } = loginContext
  const ticket = fields.get("ticket")
  const asking = directoryRequestOf(loginContext, { idpId: fields.get("idp"), ticket })
  if (!asking) return showProblem(loginContext, { problem: "not_found", status: 404 })
  const { found, ...linking } = asking
  const loginName = fields.get("loginName").trim().slice(0, loginNameMax)
  const again = (problem: Problem) =>
    directoryState.next(loginContext, { idpId: found.idp.id, loginName, ticket, problem })
  const password = fields.get("password")
  if (password === "") return again({ key: "password.error.missing" })
  try {
    const directoryResponse = await authenticateWithDirectory(cx, found, {
      username: loginName,
      password,
    })
    const requestId = waiting?.id ?? ""
    const externalSignIn = { answered: directoryResponse, requestId, ...linking }
    const answered = await runExternalScripts(loginContext, found, externalSignIn)
    const intentInput = {
      idpId: found.idp.id,
      agentId: browserContext.browser.id,
      requestId,
      creatorId: "",
      ...linking,
      answered,
    }
    const { id } = await createAnsweredIntent(cx, found, intentInput)
    return await continueWithIntent(loginContext, {
      intent: { ...intentInput, id },
      isStored: true,
    })
  } catch (cause) {
    const problem = problemOf(cause)
    if (problem) return again(problem)
    return showProviderFailure(loginContext, cause)
  }
}

const loginNameMax = 200

/** The problem to show on the same page, if the user can fix it. */
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
  get: showDirectory,
  post: postDirectory,
}
