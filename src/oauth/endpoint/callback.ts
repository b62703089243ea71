import { failRequest, isRequestOver } from "../../domain/grant/index.ts"
import {
  applicationName,
  type BrowserContext,
  browserContextOf,
  justAnswered,
  notFreshReason,
  type ShowPage,
  type Step,
  showOver,
  showTrouble,
  stepFor,
  stepPath,
  type Waiting,
  waitingRequest,
} from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { answerClient } from "../authorize/answer.ts"
import { goneSince } from "../authorize/client.ts"
import { finish } from "../authorize/finish.ts"
import { inLanguages, shownFor } from "../authorize/language.ts"
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
  const cookies = [browserContext.browser.setCookie]
  const { id, asked } = waiting
  const show = shownFor(showAny, asked)
  const gone = goneSince(cx, asked)
  if (gone) return showTrouble(show, cx, { ...gone, cookies })
  if (!isTester(browserContext, asked)) {
    return showTrouble(show, cx, { problem: "other_tester", cookies })
  }
  const step = stepFor(cx, waiting, browserContext.present)
  if (step.kind === "refuse") {
    const fields = refusalOf(cx, step)
    await cx.store.transact(cx, (tx) => failRequest(tx, id, fields.error))
    const application = applicationName(cx, asked.clientId)
    const told = { back: asked, application, cookies, isAfterForm }
    return answerClient(cx, show, { ...told, fields, here: browserContext.present })
  }
  if (step.kind !== "done") return redirect(stepPath(step, id) ?? "", ...cookies)
  const ready = { id, asked, sessionId: step.sessionId }
  return finish(cx, show, { ready, cookies, isAfterForm })
}

/** The login pages post forms to us, and their answers lead here. */
const isAfterForm = true

/**
 * Answers a request that was answered a moment ago, in this very browser, which has lost the answer
 * by a double click: with the same code, while it was not used. Later the browser is offered to
 * continue, without a code.
 */
async function answerAgain(context: Context, id: string): Promise<Response> {
  const { cx, show: showAny, browserContext } = context
  const cookies = [browserContext.browser.setCookie]
  const answered = justAnswered(cx, browserContext, id)
  if (!answered) return showOver(context, id)
  const { asked } = answered
  const show = shownFor(showAny, asked)
  const gone = goneSince(cx, asked)
  if (gone) return showTrouble(show, cx, { ...gone, cookies })
  const application = applicationName(cx, asked.clientId)
  // RFC 8628 §3.3: the device gets its answer by itself.
  const fields = asked.device ? {} : { code: writeCode(cx, { id }) }
  return answerClient(cx, show, { back: asked, application, fields, cookies, isAfterForm })
}

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
function refusalOf(cx: Cx, step: Extract<Step, { kind: "refuse" }>) {
  if (step.why !== "not fresh") return refusals[step.why]
  return { error: "login_required", error_description: notFreshReason(cx, step.idpId) }
}

/** OpenID Connect Core §3.1.2.6 and RFC 6749 §4.1.2.1. */
const refusals = {
  "other person": {
    error: "login_required",
    error_description: "somebody else signed in than the request names",
  },
  denied: { error: "access_denied", error_description: "the person did not allow it" },
} as const
