import { type AuthMethod, noteScripted } from "../domain/action/index.ts"
import { authRequest, linkSession, refundPushed } from "../domain/grant/index.ts"
import { deviceCookie, enterBrowser, type Proof, session } from "../domain/session/index.ts"
import { user } from "../domain/user/index.ts"
import type { Transaction } from "../store/index.ts"
import { afterwards, type LoginContext } from "./context.ts"
import { tellIfNew } from "./entered/new-device.ts"
import { askedOnEntry } from "./entered/script.ts"
import { answerWithin } from "./finish.ts"
import { goTo } from "./form.ts"
import { isHomeActive, presentOf, waitingRequest } from "./request.ts"

/** Who signs in, and what comes before that in the same step; see `enterBrowser`. */
export type Completing<Refusal extends object> = {
  readonly userId: string
  readonly first: (tx: Transaction) => Refusal | undefined
  /** What that has shown to be proved; without a word a password. */
  readonly proof?: () => Proof | undefined
  /** Where they are stopped on their way to be told something; they go on from there. */
  readonly stopAt?: () => string | undefined
  /**
   * How they prove who they are, for scripts, which may keep them out; undefined where scripts of
   * other moments are asked: of who comes from a provider, or has just been made.
   */
  readonly method: AuthMethod | undefined
}

/**
 * Signs a person in to the browser of the context and goes on from there. Where nothing else is to
 * be done, the request is answered in the same step.
 */
export async function completeSignIn<Refusal extends object = never>(
  loginContext: LoginContext,
  { userId, first, proof, stopAt, method }: Completing<Refusal>,
): Promise<Response | Refusal> {
  const { cx, browserContext, waiting } = loginContext
  const noted = await askedOnEntry(loginContext, { userId, first, method, proof })
  let isAnswered = false
  // A double click has posted the form twice, and the other one was faster.
  let wasAnswered = false
  const entered = await enterBrowser<Refusal>(cx, browserContext.browser, {
    userId,
    secure: browserContext.secure,
    first,
    proof,
    also: (tx, id) => {
      noteScripted(cx, tx, { userId, orgId: tx.owner(user, userId), noted })
      tellIfNew(tx, loginContext, { userId, proof: proof?.() })
      if (!waiting) return
      // As things stand now: a password takes its time, and other tabs go on meanwhile.
      const isHome = isHomeActive(cx, userId)
      const now = isHome ? waitingRequest(cx, browserContext, waiting.id) : undefined
      const present = presentOf(id, tx.state(session, id))
      const goesOn = now !== undefined && stopAt?.() === undefined
      isAnswered = goesOn && answerWithin(cx, tx, now, present)
      wasAnswered = isHome && !isAnswered && isAnsweredBy(tx, waiting.id, id)
      if (!isAnswered && !wasAnswered) linkSession(tx, waiting.id, id)
    },
  })
  if (typeof entered !== "string") return entered
  // What was kept while its person signed in has come to a good end.
  if (isAnswered && waiting) {
    cx.allowance?.refund("request")
    refundPushed(cx, waiting.asked)
  }
  const stop = isAnswered || wasAnswered ? undefined : stopAt?.()
  return goTo(stop ?? afterwards(loginContext), entered, deviceCookie(cx, browserContext, userId))
}

function isAnsweredBy(tx: Transaction, id: string, sessionId: string): boolean {
  const state = tx.state(authRequest, id)
  return state.status === "answered" && state.sessionId === sessionId
}
