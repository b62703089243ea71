import { authRequest, linkSession } from "../domain/grant/index.ts"
import { deviceCookie, enterBrowser } from "../domain/session/index.ts"
import type { Transaction } from "../store/index.ts"
import { afterwards, type Scene } from "./context.ts"
import { goTo } from "./form.ts"
import { isHomeActive, type JustAnswered, waitingRequest } from "./visit.ts"

/** Who signs in, and what comes before that in the same step; see `enterBrowser`. */
export type Entering<Refusal extends object> = {
  readonly userId: string
  readonly first: (tx: Transaction) => Refusal | undefined
}

/**
 * Signs a person in to the browser of the scene and goes on from there: to the application at once,
 * where nothing else is to be done, since the request is then answered in the same step.
 */
export async function enter<Refusal extends object = never>(
  scene: Scene,
  { userId, first }: Entering<Refusal>,
): Promise<Response | Refusal> {
  const { cx, visit, waiting, answering } = scene
  let isAnswered = false
  let before: JustAnswered | undefined
  const entered = await enterBrowser<Refusal>(cx, visit.browser.id, {
    userId,
    secure: visit.secure,
    first,
    also: (tx, id) => {
      if (!waiting) return
      // As things stand now: a password takes its time, and other tabs go on meanwhile.
      const isHome = isHomeActive(cx, userId)
      const now = isHome ? waitingRequest(cx, visit, waiting.id) : undefined
      const session = { id, userId, authTime: tx.now }
      isAnswered = now !== undefined && answering.within(cx, tx, now, session)
      // A double click has posted the form twice, and the other one was faster.
      before = isHome && !isAnswered ? answeredBy(tx, waiting.id, id) : undefined
      if (!isAnswered && !before) linkSession(tx, waiting.id, id)
    },
  })
  if (typeof entered !== "string") return entered
  const answer = await onward(scene, entered, { isAnswered, before })
  answer.headers.append("set-cookie", deviceCookie(cx, visit, userId))
  return answer
}

type Outcome = { readonly isAnswered: boolean; readonly before: JustAnswered | undefined }

function onward(
  scene: Scene,
  cookie: string,
  { isAnswered, before }: Outcome,
): Promise<Response> | Response {
  const { waiting, answering } = scene
  if (waiting && isAnswered) return answering.tell(scene, waiting, cookie)
  return before ? answering.again(scene, before, cookie) : goTo(afterwards(scene), cookie)
}

function answeredBy(tx: Transaction, id: string, sessionId: string): JustAnswered | undefined {
  const state = tx.state(authRequest, id)
  return state.status === "answered" && state.sessionId === sessionId ? state : undefined
}
