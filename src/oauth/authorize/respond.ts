import { refundPushed } from "../../domain/grant/index.ts"
import { applicationName, type ShowPage, showTrouble } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { type Answer, answerClient } from "./answer.ts"
import { complete, type Ready } from "./complete.ts"
import { showTested } from "./tested.ts"

/** `cookies` are Set-Cookie lines. */
type RespondOptions = Pick<Answer, "cookies" | "isAfterForm"> & { readonly ready: Ready }

/** Answers a request whose person may have it answered: the client, or who tries it out. */
export async function respond(cx: Cx, show: ShowPage, options: RespondOptions): Promise<Response> {
  const { ready, ...sent } = options
  const { cookies } = sent
  const { asked, keep } = ready
  const expired = () => showTrouble(show, cx, { problem: "expired", cookies })
  if (asked.testedBy !== undefined) return (await showTested(cx, show, options)) ?? expired()
  const fields = await complete(cx, ready)
  if (!fields) return expired()
  // What was kept while its person signed in has come to a good end.
  if (!keep) cx.allowance?.refund("request")
  refundPushed(cx, asked)
  const application = applicationName(cx, asked.clientId)
  return answerClient(cx, show, { back: asked, application, fields, ...sent })
}
