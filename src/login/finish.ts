import type { AuthorizationRequest } from "../domain/grant/index.ts"
import { findIdpById } from "../domain/idp/index.ts"
import type { Cx } from "../store/index.ts"
import { type FinishContext, showFinishedReason } from "./finished.ts"
import type { Step } from "./flow.ts"
import { stepPath } from "./path.ts"
import { findJustCompleted, findPendingRequest, stepFor } from "./request.ts"

/** The outcome of a request, for the endpoint of its protocol. */
export type SignInOutcome =
  /** The user must take another step, on the page at `href`. */
  | (OutcomeRequest & { readonly kind: "next"; readonly href: string })
  /** The sign-in is complete: the endpoint sends the response to the application. */
  | (OutcomeRequest & {
      readonly kind: "answered"
      readonly sessionId: string
      /** Whether the request was just completed, and the browser lost the response. */
      readonly isAgain: boolean
    })
  /** The sign-in failed: the endpoint sends the error to the application. */
  | (OutcomeRequest & { readonly kind: "refused"; readonly refusal: FailedStep })
  /** There is no response to send: a page explains why. */
  | { readonly kind: "page"; readonly page: Response }

type OutcomeRequest = { readonly id: string; readonly asked: AuthorizationRequest }

/** Why a sign-in failed. */
export type FailedStep = Extract<Step, { kind: "refuse" }>

/** The outcome of a request of this browser. */
export async function finishSignIn(context: FinishContext, id: string): Promise<SignInOutcome> {
  const { cx, browserContext } = context
  const waiting = findPendingRequest(cx, browserContext, id)
  if (!waiting) return repeatFinish(context, id)
  const { asked } = waiting
  const step = stepFor(cx, waiting, browserContext.present)
  if (step.kind === "refuse") return { kind: "refused", id, asked, refusal: step }
  if (step.kind === "done") {
    return { kind: "answered", id, asked, sessionId: step.sessionId, isAgain: false }
  }
  return { kind: "next", id, asked, href: stepPath(step, id) }
}

/**
 * The outcome of a request that is no longer pending. If this browser just completed it and lost
 * the response in a double click, the response is sent again.
 */
export async function repeatFinish(context: FinishContext, id: string): Promise<SignInOutcome> {
  const answered = findJustCompleted(context.cx, context.browserContext, id)
  if (!answered) return { kind: "page", page: await showFinishedReason(context, id) }
  const { asked, sessionId } = answered
  return { kind: "answered", id, asked, sessionId, isAgain: true }
}

/** The name of a provider in ASCII, as error descriptions require (RFC 6749 §4.1.2.1). */
const toPrintableAscii = (name: string): string =>
  name.replace(/[^\x20-\x7e]|["\\]/g, "?").slice(0, 100)

/** Why a user who came from a provider could not sign in freshly, in English. */
export function formatNotFreshReason(cx: Cx, idpId: string): string {
  const name = findIdpById(cx, idpId)?.idp.name ?? idpId
  return (
    `the identity provider ${toPrintableAscii(name)} did not sign in the user again, and ` +
    "the user " +
    "has no password, passkey or second factor here"
  )
}
