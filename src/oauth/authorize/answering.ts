import { addAuthRequest, answerRequest } from "../../domain/grant/index.ts"
import { type Answering, applicationName, nextStep, showTrouble } from "../../login/index.ts"
import type { Transaction } from "../../store/index.ts"
import { writeCode } from "../code.ts"
import { answerClient } from "./answer.ts"
import { goneSince } from "./client.ts"
import { isForCode } from "./complete.ts"
import { finish } from "./finish.ts"
import { shownFor } from "./language.ts"

/** What the callback does of a request that nothing but a sign-in was missing for, at once. */
export const answering: Answering = {
  within: (cx, tx, { id, asked, wanted }, session) => {
    if (!isForCode(asked) || asked.testedBy !== undefined || goneSince(cx, asked)) return false
    const step = nextStep({ ...wanted, sessionId: session.id }, [session], tx.now)
    if (step.kind !== "done") return false
    answerRequest(tx, id, session.id)
    return true
  },
  tell: ({ cx, show: showAny }, { id, asked }, setCookie) => {
    const show = shownFor(showAny, asked)
    cx.allowance?.refund("request")
    const fields = { code: writeCode(cx, { id }) }
    const application = applicationName(cx, asked.clientId)
    return answerClient(cx, show, { back: asked, fields, application, cookies: [setCookie] })
  },
  again: async ({ cx, show: showAny }, answered, setCookie) => {
    const { asked, agentId, sessionId } = answered
    const show = shownFor(showAny, asked)
    const cookies = [setCookie]
    const gone = goneSince(cx, asked)
    if (gone) return showTrouble(show, cx, { ...gone, cookies })
    // RFC 8628 §3.3: the device has it already.
    if (asked.device) {
      const application = applicationName(cx, asked.clientId)
      return answerClient(cx, show, { back: asked, application, cookies, fields: {} })
    }
    // A request of its own, so that each code is still good for one use.
    const id = cx.ids.next()
    const added = { agentId, asked, loginHint: "" }
    const keep = (tx: Transaction) => addAuthRequest(tx, id, added)
    return finish(cx, show, { ready: { id, asked, sessionId, keep }, cookies })
  },
}
