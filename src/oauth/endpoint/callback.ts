import { failRequest, isRequestOver } from "../../domain/grant/index.ts"
import {
  applicationName,
  type BrowserContext,
  browserContextOf,
  type Finish,
  finish,
  finishAgain,
  notFreshReason,
  type RefusedStep,
  type ShowPage,
  showTrouble,
} from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { answerClient } from "../authorize/answer.ts"
import { goneSince } from "../authorize/client.ts"
import { inLanguages, shownFor } from "../authorize/language.ts"
import { respond } from "../authorize/respond.ts"
import { isTester } from "../authorize/tested.ts"
import { writeCode } from "../code.ts"
import { readPosted } from "../handed/posted.ts"
import { redirect } from "../response.ts"
import type { Asking, Endpoint } from "./endpoint.ts"

/** Where the login pages hand back to: answers the client, or shows what is still to be done. */
export const callback: Endpoint = {
  methods: ["GET"],
  anyOrigin: false,
  answer: async ({ cx, request, url, show: showAny }) => {
    const answer = url.searchParams.get("answer")
    const browserContext = await browserContextOf(cx, request)
    if (answer !== null) return post(cx, showAny, { answer, browserContext })
    const id = url.searchParams.get("id") ?? ""
    const context = { cx, show: showAny, browserContext, request }
    try {
      return await answered(context, await finish(context, id))
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
 * Answers the client, or shows what is still to be done. A request that was answered a moment ago
 * is answered with the same code, while it was not used.
 */
async function answered(context: Context, finished: Finish): Promise<Response> {
  if (finished.kind === "page") return finished.page
  const { cx, browserContext } = context
  const { id, asked } = finished
  const cookies = [browserContext.browser.setCookie]
  const show = shownFor(context.show, asked)
  const gone = goneSince(cx, asked)
  if (gone) return showTrouble(show, cx, { ...gone, cookies })
  if (!isTester(browserContext, asked)) {
    return showTrouble(show, cx, { problem: "other_tester", cookies })
  }
  if (finished.kind === "next") return redirect(finished.href, ...cookies)
  const told = { back: asked, cookies, isAfterForm }
  const application = applicationName(cx, asked.clientId)
  if (finished.kind === "refused") {
    const fields = refusalOf(cx, finished.refusal)
    await cx.store.transact(cx, (tx) => failRequest(tx, id, fields.error))
    return answerClient(cx, show, { ...told, application, fields, here: browserContext.present })
  }
  const { sessionId, isAgain } = finished
  if (!isAgain) return respond(cx, show, { ready: { id, asked, sessionId }, cookies, isAfterForm })
  // RFC 8628 §3.3: the device gets its answer by itself.
  const fields = asked.device ? {} : { code: writeCode(cx, { id }) }
  return answerClient(cx, show, { ...told, application, fields })
}

/** The login pages post forms to us, and their answers lead here. */
const isAfterForm = true

type Posting = Pick<Context, "browserContext"> & { readonly answer: string }

/** Hands on what a login page of somebody else has answered, the way the client asked for. */
function post(cx: Cx, showAny: ShowPage, { answer, browserContext }: Posting): Promise<Response> {
  const { browser, present: here } = browserContext
  const cookies = [browser.setCookie]
  const posted = readPosted(cx, answer)
  if (!posted) return showTrouble(showAny, cx, { problem: "expired", cookies })
  const { back, fields } = posted
  const application = applicationName(cx, back.clientId)
  return answerClient(cx, inLanguages(showAny, back.languages), {
    back,
    fields,
    application,
    here,
    cookies,
  })
}

/** RFC 6749 §4.1.2.1: what a client is told of a request that ends without a sign-in. */
function refusalOf(cx: Cx, step: RefusedStep) {
  if (step.why !== "not fresh") return refusals[step.why]
  return { error: "login_required", error_description: notFreshReason(cx, step.idpId) }
}

/** OpenID Connect Core §3.1.2.6 and RFC 6749 §4.1.2.1. */
const refusals = {
  "other person": {
    error: "login_required",
    error_description: "somebody else signed in than the request names",
  },
  denied: { error: "access_denied", error_description: "the user canceled the sign-in" },
} as const
