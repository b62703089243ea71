import { failRequest } from "../../domain/grant/index.ts"
import {
  applicationName,
  type BrowserContext,
  browserContextOf,
  nextStep,
  type ShowPage,
  showTrouble,
  stepPath,
  waitingRequest,
} from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { answerClient } from "../authorize/answer.ts"
import { goneSince } from "../authorize/client.ts"
import { finish } from "../authorize/finish.ts"
import { inLanguages, shownFor } from "../authorize/language.ts"
import { isTester } from "../authorize/tested.ts"
import { readPosted } from "../handed/posted.ts"
import { redirect } from "../response.ts"
import type { Endpoint } from "./endpoint.ts"

/** Where the login pages hand back to: answers the client, or shows what is still to be done. */
export const callback: Endpoint = {
  methods: ["GET"],
  anyOrigin: false,
  answer: async ({ cx, request, url, show: showAny }) => {
    const answer = url.searchParams.get("answer")
    const browserContext = await browserContextOf(cx, request)
    const cookies = [browserContext.browser.setCookie]
    if (answer !== null) return post(cx, showAny, { answer, browserContext })
    const waiting = waitingRequest(cx, browserContext, url.searchParams.get("id") ?? "")
    if (!waiting) return showTrouble(showAny, cx, { problem: "expired", cookies })

    const { id, asked } = waiting
    const show = shownFor(showAny, asked)
    const gone = goneSince(cx, asked)
    if (gone) return showTrouble(show, cx, { ...gone, cookies })
    if (!isTester(browserContext, asked)) {
      return showTrouble(show, cx, { problem: "other_tester", cookies })
    }
    const told = { back: asked, application: applicationName(cx, asked.clientId), cookies }
    const step = nextStep(waiting.wanted, browserContext.present, cx.clock.now())
    if (step.kind === "refuse") {
      const fields = refusals[step.why]
      await cx.store.transact(cx, (tx) => failRequest(tx, id, fields.error))
      return answerClient(cx, show, { ...told, fields, here: browserContext.present })
    }
    if (step.kind !== "done") return redirect(stepPath(step, id) ?? "", ...cookies)
    return finish(cx, show, { ready: { id, asked, sessionId: step.sessionId }, cookies })
  },
}

type Posting = { readonly answer: string; readonly browserContext: BrowserContext }

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

/** OpenID Connect Core §3.1.2.6 and RFC 6749 §4.1.2.1. */
const refusals = {
  "other person": {
    error: "login_required",
    error_description: "somebody else signed in than the request names",
  },
  denied: { error: "access_denied", error_description: "the person did not allow it" },
} as const
