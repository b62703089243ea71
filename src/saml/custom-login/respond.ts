import { type AuthorizationRequest, authRequest, failRequest } from "../../domain/grant/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { requirementsOf } from "../../login/index.ts"
import {
  requireComplete,
  requireCustomLoginRequest,
  requirePresentSession,
  type SessionReference,
} from "../../oauth/index.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import type { Status } from "../../xml/names.ts"
import { isTargetRemoved, responseTargetOf } from "../request/response-target.ts"
import { completeAuthorization } from "../response/complete.ts"
import {
  createSignedDelivery,
  type Delivery,
  errorResponseOf,
  type OutgoingMessage,
} from "../response/send.ts"

/** What a custom login page makes the browser send, with the state of the request. */
export type CustomLoginResponse = { readonly sending: Delivery; readonly receipt: Receipt }

/** Completes a request with a session, once. */
export async function respondWithSession(
  cx: Cx,
  id: string,
  reference: SessionReference,
): Promise<CustomLoginResponse> {
  const { asked, ...rest } = requireCustomLoginRequest(cx, id, "saml")
  await requireValidEndpoint(cx, asked)
  const session = requirePresentSession(cx, reference)
  const requirements = requirementsOf(cx, asked, { ...rest, sessionId: session.id })
  requireComplete(cx, { asked, requirements, session })
  const sending = await completeAuthorization(cx, { id, asked, sessionId: session.id })
  if (!sending) throw new Fault("failed_precondition", "session.unproven", "the session has ended")
  return createCustomLoginResponse(cx, id, sending)
}

/** Completes a request with an error, once. */
export async function respondWithError(
  cx: Cx,
  id: string,
  { status, why: message }: { readonly status: Status; readonly why: string },
): Promise<CustomLoginResponse> {
  const { asked } = requireCustomLoginRequest(cx, id, "saml")
  await requireValidEndpoint(cx, asked)
  await cx.store.transact(cx, (tx) => failRequest(tx, id, status))
  return createCustomLoginResponse(
    cx,
    id,
    errorResponseOf(cx, responseTargetOf(asked), status, message),
  )
}

async function createCustomLoginResponse(
  cx: Cx,
  id: string,
  sending: OutgoingMessage,
): Promise<CustomLoginResponse> {
  const receipt = cx.store.receipt(cx, authRequest, id)
  if (!receipt) throw new Error("a completed request is missing")
  return { sending: await createSignedDelivery(cx, sending), receipt }
}

/** Rejects a request whose endpoint was removed meanwhile. */
async function requireValidEndpoint(cx: Cx, request: AuthorizationRequest): Promise<void> {
  if (!(await isTargetRemoved(cx, request))) return
  throw new Fault(
    "failed_precondition",
    "auth_request.application_gone",
    "the application or its endpoint was removed",
  )
}
