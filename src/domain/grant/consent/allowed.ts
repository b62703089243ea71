import type { Cx, Transaction } from "../../../store/index.ts"
import { isSelfRegistered } from "../../app/index.ts"
import { findUsableSession, type Session } from "../../session/index.ts"
import { type AuthorizationRequest, authRequest } from "../request.ts"
import { findConsentSession, isConsentRemembered } from "./remember.ts"

/** A request and the session that is to complete it. */
type CompleteRequestInput = {
  readonly id: string
  readonly asked: AuthorizationRequest
  readonly sessionId: string
}

/**
 * The session that completes a request, if it is still usable and its user has not withdrawn the
 * consent that the response relies on. A consent to this request alone is stored with the request.
 */
export function findConsentingSession(
  cx: Cx,
  tx: Transaction,
  { id, asked, sessionId }: CompleteRequestInput,
): Session | undefined {
  const session = findUsableSession(tx, sessionId)
  if (!session) return undefined
  const request = tx.state(authRequest, id)
  const consented = request.status === "open" && request.consent === sessionId ? request : undefined
  const isAllowed = consented !== undefined && findConsentSession(tx, consented) !== undefined
  const isEnough = isSelfRegistered(cx, asked.appId)
    ? isAllowed || isConsentRemembered(cx, asked, session.userId)
    : isAllowed || consented === undefined
  return isEnough ? session : undefined
}
