import { failRequest } from "../../domain/grant/index.ts"
import {
  applicationName,
  nextStep,
  showTrouble,
  stepPath,
  visitOf,
  waitingRequest,
} from "../../login/index.ts"
import { answerClient } from "../authorize/answer.ts"
import { goneSince } from "../authorize/client.ts"
import { complete } from "../authorize/complete.ts"
import { inLanguages } from "../authorize/language.ts"
import { redirect } from "../response.ts"
import type { Endpoint } from "./endpoint.ts"

/** Where the login pages hand back to: answers the client, or shows what is still to be done. */
export const callback: Endpoint = {
  methods: ["GET"],
  anyOrigin: false,
  answer: async ({ cx, request, url, show: showAny }) => {
    const visit = await visitOf(cx, request)
    const cookies = [visit.browser.setCookie]
    const waiting = waitingRequest(cx, visit, url.searchParams.get("id") ?? "")
    if (!waiting) return showTrouble(showAny, cx, { problem: "expired", cookies })

    const { id, asked } = waiting
    const show = inLanguages(showAny, asked.languages)
    const gone = goneSince(cx, asked)
    if (gone) return showTrouble(show, cx, { ...gone, cookies })
    const answer = { back: asked, application: applicationName(cx, asked.clientId), cookies }
    const step = nextStep(waiting.wanted, visit.present, cx.clock.now())
    if (step.kind === "refuse") {
      const fields = refusals[step.why]
      await cx.store.transact(cx, (tx) => failRequest(tx, id, fields.error))
      return answerClient(cx, show, { ...answer, fields })
    }
    if (step.kind !== "done") return redirect(stepPath(step, id) ?? "", ...cookies)
    const fields = await complete(cx, { id, asked, sessionId: step.sessionId })
    if (!fields) return showTrouble(show, cx, { problem: "expired", cookies })
    cx.allowance?.refund("request")
    return answerClient(cx, show, { ...answer, fields })
  },
}

/** OpenID Connect Core §3.1.2.6 and RFC 6749 §4.1.2.1. */
const refusals = {
  "other person": {
    error: "login_required",
    error_description: "somebody else signed in than the request names",
  },
  denied: { error: "access_denied", error_description: "the person did not allow it" },
} as const
