import { answerRequest } from "../../domain/grant/index.ts"
import { type Answering, applicationName, nextStep } from "../../login/index.ts"
import { writeCode } from "../code.ts"
import { answerClient } from "./answer.ts"
import { goneSince } from "./client.ts"
import { isForCode } from "./complete.ts"
import { inLanguages } from "./language.ts"

/** What the callback does of a request that nothing but a sign-in was missing for, at once. */
export const answering: Answering = {
  within: (cx, tx, { id, asked, wanted }, session) => {
    if (!isForCode(asked) || goneSince(cx, asked)) return false
    const step = nextStep({ ...wanted, sessionId: session.id }, [session], tx.now)
    if (step.kind !== "done") return false
    answerRequest(tx, id, session.id)
    return true
  },
  tell: ({ cx, show: showAny }, { id, asked }, setCookie) => {
    const show = inLanguages(showAny, asked.languages)
    cx.allowance?.refund("request")
    const fields = { code: writeCode(cx, { id }) }
    const application = applicationName(cx, asked.clientId)
    return answerClient(cx, show, { back: asked, fields, application, cookies: [setCookie] })
  },
}
