import { failRequest, isRequestOver } from "../../domain/grant/index.ts"
import {
  askedName,
  type BrowserContext,
  browserContextOf,
  justAnswered,
  notFreshReason,
  type Step,
  showOver,
  showTrouble,
  stepFor,
  stepPath,
  type Waiting,
  waitingRequest,
} from "../../login/index.ts"
import { isTester, redirect } from "../../oauth/index.ts"
import type { Cx } from "../../store/index.ts"
import { backOf, isGone } from "../request/back.ts"
import { finish } from "../response/finish.ts"
import { refusalOf, send } from "../response/send.ts"
import { showPage } from "../response/tested.ts"
import type { Asking, Endpoint } from "./endpoint.ts"
import { shownFor } from "./sso.ts"

/** Where the login pages hand back to: answers, or shows what is still to be done. */
export const callback: Endpoint = {
  methods: ["GET"],
  answer: async ({ cx, request, url, show }) => {
    const browserContext = await browserContextOf(cx, request)
    const id = url.searchParams.get("id") ?? ""
    const context = { cx, show, browserContext, request }
    const waiting = waitingRequest(cx, browserContext, id)
    try {
      return await (waiting ? answerOpen(context, waiting) : answerAgain(context, id))
    } catch (cause) {
      // A double click has the browser come twice, and the other one was faster.
      if (!isRequestOver(cause)) throw cause
      return answerAgain(context, id)
    }
  },
}

type Context = Pick<Asking, "cx" | "show" | "request"> & {
  readonly browserContext: BrowserContext
}

/** Answers a request that waits, or shows what is still to be done. */
async function answerOpen(
  { cx, show: showAny, browserContext }: Context,
  waiting: Waiting,
): Promise<Response> {
  const { id, asked } = waiting
  const cookies = [browserContext.browser.setCookie]
  if (!asked.saml) return showTrouble(showAny, cx, { problem: "expired", cookies })
  const show = shownFor(showAny, asked)
  const application = askedName(cx, asked)
  if (await isGone(cx, asked)) {
    return showTrouble(show, cx, { problem: "unknown_application", cookies })
  }
  if (!isTester(browserContext, asked)) {
    return showTrouble(show, cx, { problem: "other_tester", cookies })
  }
  const step = stepFor(cx, waiting, browserContext.present)
  if (step.kind === "refuse") {
    const { status, why } = reasonOf(cx, step)
    await cx.store.transact(cx, (tx) => failRequest(tx, id, status))
    if (asked.testedBy !== undefined) {
      const refusal = { error: status, description: why }
      return showPage(cx, show, { asked, cookies, refusal })
    }
    const way = refusalOf(cx, backOf(asked), status, why)
    return send(cx, way, { show, application, cookies, afterForm: "refused" })
  }
  if (step.kind !== "done") return redirect(stepPath(step, id) ?? "", ...cookies)
  cx.allowance?.refund("request")
  const ready = { id, asked, sessionId: step.sessionId }
  return finish(cx, { show, application, cookies, afterForm: "signed_in" }, ready)
}

/**
 * Answers a request again that was answered a moment ago, in this very browser, which has lost the
 * answer by a double click. Later the browser is offered to continue, without an assertion.
 */
async function answerAgain(context: Context, id: string): Promise<Response> {
  const { cx, show: showAny, browserContext } = context
  const cookies = [browserContext.browser.setCookie]
  const answered = justAnswered(cx, browserContext, id)
  if (!answered?.asked.saml) return showOver(context, id)
  const { asked, sessionId } = answered
  const show = shownFor(showAny, asked)
  const application = askedName(cx, asked)
  if (await isGone(cx, asked)) {
    return showTrouble(show, cx, { problem: "unknown_application", cookies })
  }
  const showing = { show, application, cookies, afterForm: "signed_in" } as const
  return finish(cx, showing, { asked, sessionId })
}

/** SAML Core §3.2.2.2: what a service provider is told of a request that ends without a sign-in. */
const reasonOf = (cx: Cx, step: Extract<Step, { kind: "refuse" }>) =>
  step.why === "not fresh"
    ? ({ status: "noAuthnContext", why: notFreshReason(cx, step.idpId) } as const)
    : ({ status: "requestDenied", why: "the person did not allow it" } as const)
