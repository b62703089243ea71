import { authRequest, linkSession } from "../domain/grant/index.ts"
import { enterBrowser } from "../domain/session/index.ts"
import type { Transaction } from "../store/index.ts"
import { afterwards, type Scene } from "./context.ts"
import { goTo } from "./form.ts"
import { isHomeActive, waitingRequest } from "./visit.ts"

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
  const entered = await enterBrowser<Refusal>(cx, visit.browser.id, {
    userId,
    secure: visit.secure,
    first,
    also: (tx, id) => {
      if (!waiting) return
      // As things stand now: a password takes its time, and other tabs go on meanwhile.
      const now = isHomeActive(cx, userId) ? waitingRequest(cx, visit, waiting.id) : undefined
      const session = { id, userId, authTime: tx.now }
      isAnswered = now !== undefined && answering.within(cx, tx, now, session)
      // A form that was posted twice: what the other one got is got once more on the way.
      if (!isAnswered && !wasAnsweredBy(tx, waiting.id, id)) linkSession(tx, waiting.id, id)
    },
  })
  if (typeof entered !== "string") return entered
  if (waiting && isAnswered) return answering.tell(scene, waiting, entered)
  return goTo(afterwards(scene), entered)
}

function wasAnsweredBy(tx: Transaction, requestId: string, sessionId: string): boolean {
  const state = tx.state(authRequest, requestId)
  return state.status === "answered" && state.sessionId === sessionId
}
