import type { Cx, Transaction } from "../../../store/index.ts"
import { isSelfRegistered } from "../../app/index.ts"
import { type Session, usableSession } from "../../session/index.ts"
import { authRequest, type Requested } from "../request.ts"
import { consentTo, isConsentRemembered } from "./remember.ts"

/** A request, and the session that is to answer it. */
type AnswerRequest = {
  readonly id: string
  readonly asked: Requested
  readonly sessionId: string
}

/**
 * The session that answers a request, if it is still usable and its user has not withdrawn the
 * consent that the answer relies on. A consent to this very request is kept with the request.
 */
export function allowedSession(
  cx: Cx,
  tx: Transaction,
  { id, asked, sessionId }: AnswerRequest,
): Session | undefined {
  const session = usableSession(tx, sessionId)
  if (!session) return undefined
  const request = tx.state(authRequest, id)
  const given = request.status === "open" && request.consent === sessionId ? request : undefined
  const isAllowed = given !== undefined && consentTo(tx, given) !== undefined
  const isEnough = isSelfRegistered(cx, asked.appId)
    ? isAllowed || isConsentRemembered(cx, asked, session.userId)
    : isAllowed || given === undefined
  return isEnough ? session : undefined
}
