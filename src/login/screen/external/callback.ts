import {
  doneWith,
  failIntent,
  finishUpstream,
  idpById,
  openIntent,
  type RequestedSignIn,
  redirectUriOf,
  startIntent,
  succeedIntent,
  tokenPath,
  tokenState,
} from "../../../domain/idp/index.ts"
import { formWithin } from "../../../protocol/body.ts"
import type { LoginContext, PageContext, Screen } from "../../context.ts"
import { askedOfExternal } from "../../entered/script.ts"
import { goTo } from "../../form.ts"
import { offeredIdp } from "../../part/provider.ts"
import { loginPaths } from "../../path.ts"
import type { Waiting } from "../../request.ts"
import { trouble } from "../../trouble.ts"
import { failed, proceed, reasonOf, tellElsewhere } from "./outcome.ts"
import { recordRefusedAnswer } from "./refused-answer.ts"

/** GET: sends the browser to a provider that the page has offered. */
async function startExternal(loginContext: LoginContext): Promise<Response> {
  const { cx, request, browserContext, waiting } = loginContext
  const id = new URL(request.url).searchParams.get("idp") ?? ""
  const found = offeredIdp(loginContext, id)
  if (!found) return trouble(loginContext, { problem: "not_found", status: 404 })
  try {
    const { authUrl } = await startIntent(cx, found, {
      agentId: browserContext.browser.id,
      requestId: waiting?.id ?? "",
      creatorId: "",
      successUrl: "",
      failureUrl: "",
      ...(waiting && { requested: requestedOf(waiting) }),
    })
    return goTo(authUrl, browserContext.browser.setCookie)
  } catch (cause) {
    return failed(loginContext, cause)
  }
}

/** What the request that waits requires of a sign-in, wherever that happens. */
const requestedOf = ({ asked, loginHint }: Waiting): RequestedSignIn => ({
  mustSignIn: asked.prompts.includes("login"),
  maxAgeSeconds: asked.maxAge,
  loginHint,
  acrValues: asked.acrValues,
})

/**
 * What a provider has answered. A form that comes from elsewhere brings no cookie of ours, so that
 * it is asked for once more as an address.
 */
export async function takeCallback(pageContext: PageContext): Promise<Response> {
  const { cx, request } = pageContext
  const url = new URL(request.url)
  if (request.method === "POST") {
    const form = await formWithin(request, { bytes: 16_384, parameters: 20 })
    if (typeof form === "string") return trouble(pageContext, { problem: "invalid_request" })
    return goTo(`${url.pathname}?${form}`)
  }
  const isToken = url.pathname === tokenPath
  const state = isToken ? tokenState(url.searchParams) : url.searchParams.get("state")
  const open = openIntent(cx, state ?? "")
  const found = open && idpById(cx, open.idpId)
  // Another provider's answer, or one that came by another's address.
  if (!open || !found || new URL(redirectUriOf(cx, found)).pathname !== url.pathname) {
    return trouble(pageContext, { problem: "expired" })
  }
  // Whoever has begun it goes on: a state that was planted in another browser signs nobody in.
  if (open.agentId !== "" && open.agentId !== pageContext.browserContext.browser.id) {
    return trouble(pageContext, { problem: "other_browser", status: 403 })
  }
  const isOurs = open.agentId !== ""
  try {
    const { headers } = request
    const returned = { parameters: url.searchParams, headers, kept: open.kept }
    const said = await finishUpstream(cx, found, returned)
    if (!isOurs) {
      const token = await succeedIntent(cx, open.id, said)
      return tellElsewhere(cx, open, { token, answered: said })
    }
    const { requestId, linkUserId } = open
    const come = { answered: said, requestId, linkUserId }
    const answered = await askedOfExternal(pageContext, found, come)
    return await proceed(pageContext, { intent: doneWith(open, answered), isKept: false })
  } catch (cause) {
    const error = reasonOf(cause)
    await failIntent(cx, open.id, error)
    recordRefusedAnswer(cx, found.idp, { endpoint: url.pathname, cause })
    return isOurs ? failed(pageContext, cause) : tellElsewhere(cx, open, { error })
  }
}

export const startExternalScreen: Screen = { path: loginPaths.externalIdp, get: startExternal }
