import { failRequest, isRequestOver } from "../../domain/grant/index.ts"
import {
  askedName,
  type BrowserContext,
  browserContextOf,
  type Finish,
  finish,
  finishAgain,
  notFreshReason,
  type RefusedStep,
  showOver,
  showTrouble,
} from "../../login/index.ts"
import { isTester, redirect } from "../../oauth/index.ts"
import type { Cx } from "../../store/index.ts"
import { backOf, isGone } from "../request/back.ts"
import { respond } from "../response/respond.ts"
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
    try {
      return await answered(context, await finishNow(context, id))
    } catch (cause) {
      // A double click has the browser come twice, and the other one was faster.
      if (!isRequestOver(cause)) throw cause
      return answered(context, await finishAgain(context, id))
    }
  },
}

type Context = Pick<Asking, "cx" | "show" | "request"> & {
  readonly browserContext: BrowserContext
}

/**
 * What the request has come to. Reading the application takes a while, in which a factor may have
 * become required: what is answered is decided after that.
 */
async function finishNow(context: Context, id: string): Promise<Finish> {
  const finished = await finish(context, id)
  if (finished.kind !== "answered" || finished.isAgain || !finished.asked.saml) return finished
  await isGone(context.cx, finished.asked)
  return finish(context, id)
}

/**
 * Answers the service provider, or shows what is still to be done. A request that was answered a
 * moment ago is answered again.
 */
async function answered(context: Context, finished: Finish): Promise<Response> {
  if (finished.kind === "page") return finished.page
  const { cx, browserContext } = context
  const { id, asked } = finished
  const cookies = [browserContext.browser.setCookie]
  const isAgain = finished.kind === "answered" && finished.isAgain
  if (!asked.saml) {
    return isAgain
      ? showOver(context, id)
      : showTrouble(context.show, cx, { problem: "expired", cookies })
  }
  const show = shownFor(context.show, asked)
  const application = askedName(cx, asked)
  if (await isGone(cx, asked)) {
    return showTrouble(show, cx, { problem: "unknown_application", cookies })
  }
  if (!isTester(browserContext, asked)) {
    return showTrouble(show, cx, { problem: "other_tester", cookies })
  }
  if (finished.kind === "next") return redirect(finished.href, ...cookies)
  if (finished.kind === "refused") {
    const { status, why } = reasonOf(cx, finished.refusal)
    await cx.store.transact(cx, (tx) => failRequest(tx, id, status))
    if (asked.testedBy !== undefined) {
      const refusal = { error: status, description: why }
      return showPage(cx, show, { asked, cookies, refusal })
    }
    const way = refusalOf(cx, backOf(asked), status, why)
    return send(cx, way, { show, application, cookies, afterForm: "refused" })
  }
  if (!isAgain) cx.allowance?.refund("request")
  const ready = { ...(!isAgain && { id }), asked, sessionId: finished.sessionId }
  return respond(cx, { show, application, cookies, afterForm: "signed_in" }, ready)
}

/** SAML Core §3.2.2.2: what a service provider is told of a request that ends without a sign-in. */
const reasonOf = (cx: Cx, step: RefusedStep) =>
  step.why === "not fresh"
    ? ({ status: "noAuthnContext", why: notFreshReason(cx, step.idpId) } as const)
    : ({ status: "requestDenied", why: "the user canceled the sign-in" } as const)
