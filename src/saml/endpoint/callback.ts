import { failRequest } from "../../domain/grant/index.ts"
import {
  askedName,
  browserContextOf,
  nextStep,
  showTrouble,
  stepPath,
  waitingRequest,
} from "../../login/index.ts"
import { isTester, redirect } from "../../oauth/index.ts"
import { backOf, isGone } from "../request/back.ts"
import { finish } from "../response/finish.ts"
import { refusalOf, send } from "../response/send.ts"
import { showPage } from "../response/tested.ts"
import type { Endpoint } from "./endpoint.ts"
import { shownFor } from "./sso.ts"

/** Where the login pages hand back to: answers, or shows what is still to be done. */
export const callback: Endpoint = {
  methods: ["GET"],
  answer: async ({ cx, request, url, show: showAny }) => {
    const browserContext = await browserContextOf(cx, request)
    const cookies = [browserContext.browser.setCookie]
    const waiting = waitingRequest(cx, browserContext, url.searchParams.get("id") ?? "")
    if (!waiting?.asked.saml) return showTrouble(showAny, cx, { problem: "expired", cookies })
    const { id, asked } = waiting
    const show = shownFor(showAny, asked)
    const application = askedName(cx, asked)
    if (await isGone(cx, asked)) {
      return showTrouble(show, cx, { problem: "unknown_application", cookies })
    }
    if (!isTester(browserContext, asked)) {
      return showTrouble(show, cx, { problem: "other_tester", cookies })
    }
    const step = nextStep(waiting.wanted, browserContext.present, cx.clock.now())
    if (step.kind === "refuse") {
      await cx.store.transact(cx, (tx) => failRequest(tx, id, "denied"))
      const why = "the person did not allow it"
      if (asked.testedBy !== undefined) {
        const refusal = { error: "requestDenied", description: why }
        return showPage(cx, show, { asked, cookies, refusal })
      }
      const way = refusalOf(cx, backOf(asked), "requestDenied", why)
      return send(cx, way, { show, application, cookies })
    }
    if (step.kind !== "done") return redirect(stepPath(step, id) ?? "", ...cookies)
    cx.allowance?.refund("request")
    const ready = { id, asked, sessionId: step.sessionId }
    return finish(cx, { show, application, cookies }, ready)
  },
}
