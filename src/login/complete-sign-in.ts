import { type AuthMethod, noteScripted } from "../domain/action/index.ts"
import { authRequest, linkSession } from "../domain/grant/index.ts"
import { deviceCookie, enterBrowser, type Proof, session } from "../domain/session/index.ts"
import { user } from "../domain/user/index.ts"
import type { Transaction } from "../store/index.ts"
import { isHomeActive, type JustAnswered, presentOf, waitingRequest } from "./browser-context.ts"
import { afterwards, type LoginContext } from "./context.ts"
import { tellIfNew } from "./entered/new-device.ts"
import { askedOnEntry } from "./entered/script.ts"
import { goTo } from "./form.ts"

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
 * Signs a person in to the browser of the context and goes on from there: to the application at
 * once, where nothing else is to be done, since the request is then answered in the same step.
 */
export async function completeSignIn<Refusal extends object = never>(
  loginContext: LoginContext,
  { userId, first, proof, stopAt, method }: Completing<Refusal>,
): Promise<Response | Refusal> {
  const { cx, browserContext, waiting, answering } = loginContext
  const noted = await askedOnEntry(loginContext, { userId, first, method, proof })
  let isAnswered = false
  let before: JustAnswered | undefined
  const entered = await enterBrowser<Refusal>(cx, browserContext.browser.id, {
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
      isAnswered = goesOn && answering.within(cx, tx, now, present)
      // A double click has posted the form twice, and the other one was faster.
      before = isHome && !isAnswered ? answeredBy(tx, waiting.id, id) : undefined
      if (!isAnswered && !before) linkSession(tx, waiting.id, id)
    },
  })
  if (typeof entered !== "string") return entered
  const stop = before ? undefined : stopAt?.()
  const answer = stop
    ? goTo(stop, entered)
    : await onward(loginContext, entered, { isAnswered, before })
  answer.headers.append("set-cookie", deviceCookie(cx, browserContext, userId))
  return answer
}

type Outcome = { readonly isAnswered: boolean; readonly before: JustAnswered | undefined }

function onward(
  loginContext: LoginContext,
  cookie: string,
  { isAnswered, before }: Outcome,
): Promise<Response> | Response {
  const { waiting, answering } = loginContext
  if (waiting && isAnswered) return answering.tell(loginContext, waiting, cookie)
  return before
    ? answering.again(loginContext, before, cookie)
    : goTo(afterwards(loginContext), cookie)
}

function answeredBy(tx: Transaction, id: string, sessionId: string): JustAnswered | undefined {
  const state = tx.state(authRequest, id)
  return state.status === "answered" && state.sessionId === sessionId ? state : undefined
}
