import { failRequest, isRequestOver } from "../../domain/grant/index.ts"
import {
  type BrowserContext,
  type FailedStep,
  finishSignIn,
  formatNotFreshReason,
  loadBrowserContext,
  repeatFinish,
  requestedName,
  type SignInOutcome,
  showError,
  showFinishedReason,
} from "../../login/index.ts"
import { isTester, redirect } from "../../oauth/index.ts"
import type { Cx } from "../../store/index.ts"
import { isTargetRemoved, responseTargetOf } from "../request/response-target.ts"
import { respond } from "../response/respond.ts"
import { errorResponseOf, send } from "../response/send.ts"
import { showTestPage } from "../response/sign-in-test.ts"
import type { Endpoint, EndpointContext } from "./endpoint.ts"
import { showPageFor } from "./sso.ts"

/** The login pages return here: sends the response, or shows the next step. */
export const callback: Endpoint = {
  methods: ["GET"],
  handle: async ({ cx, request, url, show }) => {
    const browserContext = await loadBrowserContext(cx, request)
    const id = url.searchParams.get("id") ?? ""
    const context = { cx, show, browserContext, request }
    try {
      return await respondToOutcome(context, await loadOutcome(context, id))
    } catch (cause) {
      // After a double click, the browser comes twice, and the other request was faster.
      if (!isRequestOver(cause)) throw cause
      return respondToOutcome(context, await repeatFinish(context, id))
    }
  },
}

type Context = Pick<EndpointContext, "cx" | "show" | "request"> & {
  readonly browserContext: BrowserContext
}

/**
 * The outcome of the request. Loading the application takes a while, during which a factor may
 * become required, so the decision follows it.
 */
async function loadOutcome(context: Context, id: string): Promise<SignInOutcome> {
  const finished = await finishSignIn(context, id)
  if (finished.kind !== "answered" || finished.isAgain || !finished.asked.saml) return finished
  await isTargetRemoved(context.cx, finished.asked)
  return finishSignIn(context, id)
}

/**
 * Sends the response to the service provider, or shows the next step. A request that was just
 * completed receives the response again.
 */
async function respondToOutcome(context: Context, finished: SignInOutcome): Promise<Response> {
  if (finished.kind === "page") return finished.page
  const { cx, browserContext } = context
  const { id, asked } = finished
  const cookies = [browserContext.browser.setCookie]
  const isAgain = finished.kind === "answered" && finished.isAgain
  if (!asked.saml) {
    return isAgain
      ? showFinishedReason(context, id)
      : showError(context.show, cx, { problem: "expired", cookies })
  }
  const show = showPageFor(context.show, asked)
  const application = requestedName(cx, asked)
  if (await isTargetRemoved(cx, asked)) {
    return showError(show, cx, { problem: "unknown_application", cookies })
  }
  if (!isTester(browserContext, asked)) {
    return showError(show, cx, { problem: "other_tester", cookies })
  }
  if (finished.kind === "next") return redirect(finished.href, ...cookies)
  if (finished.kind === "refused") {
    const { status, why } = statusOfStep(cx, finished.refusal)
    await cx.store.transact(cx, (tx) => failRequest(tx, id, status))
    if (asked.testedBy !== undefined) {
      const refusal = { error: status, description: why }
      return showTestPage(cx, show, { asked, cookies, refusal })
    }
    const outgoing = errorResponseOf(cx, responseTargetOf(asked), status, why)
    return send(cx, outgoing, { show, application, cookies, afterForm: "refused" })
  }
  if (!isAgain) cx.allowance?.refund("request")
  const ready = { ...(!isAgain && { id }), asked, sessionId: finished.sessionId }
  return respond(cx, { show, application, cookies, afterForm: "signed_in" }, ready)
}

/** SAML Core §3.2.2.2: the status for a request that ends without a sign-in. */
const statusOfStep = (cx: Cx, step: FailedStep) =>
  step.why === "not fresh"
    ? ({ status: "noAuthnContext", why: formatNotFreshReason(cx, step.idpId) } as const)
    : ({ status: "requestDenied", why: "the user canceled the sign-in" } as const)
