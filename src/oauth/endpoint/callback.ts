import { failRequest, isRequestOver } from "../../domain/grant/index.ts"
import {
  applicationName,
  type BrowserContext,
  type FailedStep,
  finishSignIn,
  formatNotFreshReason,
  loadBrowserContext,
  repeatFinish,
  type ShowPage,
  type SignInOutcome,
  showError,
} from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { findRedirectProblem } from "../authorize/client.ts"
import { showPageFor, withLanguages } from "../authorize/language.ts"
import { respond } from "../authorize/respond.ts"
import { sendResponse } from "../authorize/response.ts"
import { isTester } from "../authorize/sign-in-test.ts"
import { sealCode } from "../code.ts"
import { openResponse } from "../custom-login/sealed-response.ts"
import { redirect } from "../response.ts"
import type { Endpoint, EndpointContext } from "./endpoint.ts"

/** The login pages return here: sends the response to the client, or shows the next step. */
export const callback: Endpoint = {
  methods: ["GET"],
  anyOrigin: false,
  handle: async ({ cx, request, url, show: showPage }) => {
    const answer = url.searchParams.get("answer")
    const browserContext = await loadBrowserContext(cx, request)
    if (answer !== null) return forwardResponse(cx, showPage, { answer, browserContext })
    const id = url.searchParams.get("id") ?? ""
    const context = { cx, show: showPage, browserContext, request }
    try {
      return await respondToOutcome(context, await finishSignIn(context, id))
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
 * Sends the response to the client, or shows the next step. A request that was just completed has
 * the same code in its response again, if it was not used yet.
 */
async function respondToOutcome(context: Context, finished: SignInOutcome): Promise<Response> {
  if (finished.kind === "page") return finished.page
  const { cx, browserContext } = context
  const { id, asked } = finished
  const cookies = [browserContext.browser.setCookie]
  const show = showPageFor(context.show, asked)
  const redirectProblem = findRedirectProblem(cx, asked)
  if (redirectProblem) return showError(show, cx, { ...redirectProblem, cookies })
  if (!isTester(browserContext, asked)) {
    return showError(show, cx, { problem: "other_tester", cookies })
  }
  if (finished.kind === "next") return redirect(finished.href, ...cookies)
  const responseBase = { back: asked, cookies, isAfterForm }
  const application = applicationName(cx, asked.clientId)
  if (finished.kind === "refused") {
    const fields = errorOfStep(cx, finished.refusal)
    await cx.store.transact(cx, (tx) => failRequest(tx, id, fields.error))
    return sendResponse(cx, show, {
      ...responseBase,
      application,
      fields,
      here: browserContext.present,
    })
  }
  const { sessionId, isAgain } = finished
  if (!isAgain) return respond(cx, show, { ready: { id, asked, sessionId }, cookies, isAfterForm })
  // RFC 8628 §3.3: the device polls for its response.
  const fields = asked.device ? {} : { code: sealCode(cx, { id }) }
  return sendResponse(cx, show, { ...responseBase, application, fields })
}

/** The login pages post forms, whose redirects lead here. */
const isAfterForm = true

type ForwardedResponse = Pick<Context, "browserContext"> & { readonly answer: string }

/** Forwards the response of a custom login page in the response mode of the client. */
function forwardResponse(
  cx: Cx,
  showPage: ShowPage,
  { answer, browserContext }: ForwardedResponse,
): Promise<Response> {
  const { browser, present } = browserContext
  const cookies = [browser.setCookie]
  const posted = openResponse(cx, answer)
  if (!posted) return showError(showPage, cx, { problem: "expired", cookies })
  const { back, fields } = posted
  const application = applicationName(cx, back.clientId)
  return sendResponse(cx, withLanguages(showPage, back.languages), {
    back,
    fields,
    application,
    here: present,
    cookies,
  })
}

/** RFC 6749 §4.1.2.1: the error for a request that ends without a sign-in. */
function errorOfStep(cx: Cx, step: FailedStep) {
  if (step.why !== "not fresh") return errorsByStep[step.why]
  return { error: "login_required", error_description: formatNotFreshReason(cx, step.idpId) }
}

/** OpenID Connect Core §3.1.2.6 and RFC 6749 §4.1.2.1. */
const errorsByStep = {
  "other person": {
    error: "login_required",
    error_description: "a different user signed in than the request specifies",
  },
  denied: { error: "access_denied", error_description: "the user canceled the sign-in" },
} as const
