import type { Requested } from "../domain/grant/index.ts"
import { idpById } from "../domain/idp/index.ts"
import type { Cx } from "../store/index.ts"
import { type FinishContext, showOver } from "./finished.ts"
import type { Step } from "./flow.ts"
import { stepPath } from "./path.ts"
import { justAnswered, stepFor, waitingRequest } from "./request.ts"

/** What a request has come to that the endpoint of its protocol takes up again. */
export type Finish =
  /** The person has another step to take, on the page at `href`. */
  | (FinishedBy & { readonly kind: "next"; readonly href: string })
  /** All is done: the endpoint tells the application who has signed in. */
  | (FinishedBy & {
      readonly kind: "answered"
      readonly sessionId: string
      /** Whether it was answered a moment ago, and the browser has lost the answer. */
      readonly isAgain: boolean
    })
  /** Nobody signs in: the endpoint tells the application why. */
  | (FinishedBy & { readonly kind: "refused"; readonly refusal: RefusedStep })
  /** There is nothing to answer: a page says why. */
  | { readonly kind: "page"; readonly page: Response }

type FinishedBy = { readonly id: string; readonly asked: Requested }

/** Why nobody signs in. */
export type RefusedStep = Extract<Step, { kind: "refuse" }>

/** What a request of this browser has come to. */
export async function finish(context: FinishContext, id: string): Promise<Finish> {
  const { cx, browserContext } = context
  const waiting = waitingRequest(cx, browserContext, id)
  if (!waiting) return finishAgain(context, id)
  const { asked } = waiting
  const step = stepFor(cx, waiting, browserContext.present)
  if (step.kind === "refuse") return { kind: "refused", id, asked, refusal: step }
  if (step.kind === "done") {
    return { kind: "answered", id, asked, sessionId: step.sessionId, isAgain: false }
  }
  return { kind: "next", id, asked, href: stepPath(step, id) }
}

/**
 * What a request has come to that waits no more: one that was answered a moment ago, in this very
 * browser, which has lost the answer by a double click, is answered again.
 */
export async function finishAgain(context: FinishContext, id: string): Promise<Finish> {
  const answered = justAnswered(context.cx, context.browserContext, id)
  if (!answered) return { kind: "page", page: await showOver(context, id) }
  const { asked, sessionId } = answered
  return { kind: "answered", id, asked, sessionId, isAgain: true }
}

/** The name of a provider, for a protocol that has ASCII alone (RFC 6749 §4.1.2.1). */
const printable = (name: string): string => name.replace(/[^\x20-\x7e]|["\\]/g, "?").slice(0, 100)

/** Why nobody could be signed in freshly who came by a provider, in English. */
export function notFreshReason(cx: Cx, idpId: string): string {
  const name = idpById(cx, idpId)?.idp.name ?? idpId
  return (
    `the identity provider ${printable(name)} did not sign the user in again, and the user has ` +
    "no password, passkey or second factor here"
  )
}
