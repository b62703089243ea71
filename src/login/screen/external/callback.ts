import {
  completeOpenIntent,
  failIntent,
  findIdpById,
  findOpenIntent,
  finishUpstream,
  parseTokenState,
  type RequestedSignIn,
  redirectUriOf,
  startIntent,
  succeedIntent,
  tokenPath,
} from "../../../domain/idp/index.ts"
import { readForm } from "../../../protocol/body.ts"
import type { LoginContext, PageContext, Screen } from "../../context.ts"
import { redirectTo } from "../../form.ts"
import { findOfferedProvider } from "../../part/provider.ts"
import { loginPaths } from "../../path.ts"
import { showProblem } from "../../problem.ts"
import type { PendingRequest } from "../../request.ts"
import { runExternalScripts } from "../../sign-in/script.ts"
import {
  continueWithIntent,
  failureIdOf,
  redirectToCustomLogin,
  showProviderFailure,
} from "./outcome.ts"
import { recordRejectedResponse } from "./rejected-response.ts"

/** GET: redirects to an offered provider. */
async function startExternal(loginContext: LoginContext): Promise<Response> {
  const { cx, request, browserContext, waiting } = loginContext
  const id = new URL(request.url).searchParams.get("idp") ?? ""
  const found = findOfferedProvider(loginContext, id)
  if (!found) return showProblem(loginContext, { problem: "not_found", status: 404 })
  try {
    const { authUrl } = await startIntent(cx, found, {
      agentId: browserContext.browser.id,
      requestId: waiting?.id ?? "",
      creatorId: "",
      successUrl: "",
      failureUrl: "",
      ...(waiting && { requested: requestedSignInOf(waiting) }),
    })
    return redirectTo(authUrl, browserContext.browser.setCookie)
  } catch (cause) {
    return showProviderFailure(loginContext, cause)
  }
}

/** The requirements of the pending request, for the provider. */
const requestedSignInOf = ({ asked, loginHint }: PendingRequest): RequestedSignIn => ({
  mustSignIn: asked.prompts.includes("login"),
  maxAgeSeconds: asked.maxAge,
  loginHint,
  acrValues: asked.acrValues,
})

/**
 * The response of a provider. A cross-site form post contains no cookie of ours, so it is converted
 * to a GET request first.
 */
export async function handleCallback(pageContext: PageContext): Promise<Response> {
  const { cx, request } = pageContext
  const url = new URL(request.url)
  if (request.method === "POST") {
    const form = await readForm(request, { bytes: 16_384, parameters: 20 })
    if (typeof form === "string") return showProblem(pageContext, { problem: "invalid_request" })
    return redirectTo(`${url.pathname}?${form}`)
  }
  const isToken = url.pathname === tokenPath
  const state = isToken ? parseTokenState(url.searchParams) : url.searchParams.get("state")
  const open = findOpenIntent(cx, state ?? "")
  const found = open && findIdpById(cx, open.idpId)
  // The response of a different provider, or on the path of a different one.
  if (!open || !found || new URL(redirectUriOf(cx, found)).pathname !== url.pathname) {
    return showProblem(pageContext, { problem: "expired" })
  }
  // Only the browser that began the sign-in can continue it: a state planted in another browser
  // signs in no one.
  if (open.agentId !== "" && open.agentId !== pageContext.browserContext.browser.id) {
    return showProblem(pageContext, { problem: "other_browser", status: 403 })
  }
  const isOurs = open.agentId !== ""
  try {
    const { headers } = request
    const returned = { parameters: url.searchParams, headers, flow: open.kept }
    const upstreamResponse = await finishUpstream(cx, found, returned)
    if (!isOurs) {
      const token = await succeedIntent(cx, open.id, upstreamResponse)
      return redirectToCustomLogin(cx, open, { token, answered: upstreamResponse })
    }
    const { requestId, linkUserId } = open
    const externalSignIn = { answered: upstreamResponse, requestId, linkUserId }
    const answered = await runExternalScripts(pageContext, found, externalSignIn)
    return await continueWithIntent(pageContext, {
      intent: completeOpenIntent(open, answered),
      isStored: false,
    })
  } catch (cause) {
    const error = failureIdOf(cause)
    await failIntent(cx, open.id, error)
    recordRejectedResponse(cx, found.idp, { endpoint: url.pathname, cause })
    return isOurs
      ? showProviderFailure(pageContext, cause)
      : redirectToCustomLogin(cx, open, { error })
  }
}

export const startExternalScreen: Screen = { path: loginPaths.externalIdp, get: startExternal }
