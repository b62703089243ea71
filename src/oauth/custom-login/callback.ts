import {
  type AuthorizationRequest,
  allowRequest,
  authRequest,
  type CustomLoginRequest,
  failRequest,
  findCustomLoginRequest,
} from "../../domain/grant/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { requirementsOf } from "../../login/index.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import { findRedirectProblem } from "../authorize/client.ts"
import { completeAuthorization } from "../authorize/complete.ts"
import { appendParameters, responseParameters } from "../authorize/response.ts"
import { isUnapprovedRedirect } from "../authorize/unapproved-redirect.ts"
import { sealResponse } from "./sealed-response.ts"
import { requirePresentSession, type SessionReference } from "./session.ts"
import { requireComplete } from "./step.ts"

/** Where a custom login page redirects the browser, with the state of the request. */
export type CallbackResult = { readonly url: string; readonly receipt: Receipt }

/**
 * The request that a custom login page serves, of this protocol. Rejects requests of our own login
 * pages and requests that are over.
 */
export function requireCustomLoginRequest(
  cx: Cx,
  id: string,
  protocol: "oidc" | "saml" = "oidc",
): CustomLoginRequest {
  const request = findCustomLoginRequest(cx, id)
  if (!request || (request.asked.saml !== undefined) !== (protocol === "saml")) {
    throw new Fault(
      "not_found",
      "auth_request.missing",
      "request not found, or already over; return to the application and start again",
    )
  }
  return request
}

/** Completes a request with a session, once. */
export async function completeWithSession(
  cx: Cx,
  id: string,
  reference: SessionReference,
): Promise<CallbackResult> {
  const { asked, ...rest } = requireCustomLoginRequest(cx, id)
  requireValidRedirect(cx, asked)
  const session = requirePresentSession(cx, reference)
  const requirements = requirementsOf(cx, asked, { ...rest, sessionId: session.id })
  const { isConsented } = requireComplete(cx, { asked, requirements, session })
  if (isConsented) await allowRequest(cx, id, session.id)
  const fields = await completeAuthorization(cx, { id, asked, sessionId: session.id })
  if (!fields) throw new Fault("failed_precondition", "session.unproven", "the session has ended")
  return callbackResultOf(cx, id, { asked, fields })
}

/** Completes a request with an error, once. */
export async function completeWithError(
  cx: Cx,
  id: string,
  fields: Fields,
): Promise<CallbackResult> {
  const { asked } = requireCustomLoginRequest(cx, id)
  requireValidRedirect(cx, asked)
  await cx.store.transact(cx, (tx) => failRequest(tx, id, fields.error ?? ""))
  return callbackResultOf(cx, id, { asked, fields })
}

type Fields = Readonly<Record<string, string>>

function callbackResultOf(
  cx: Cx,
  id: string,
  { asked, fields }: { readonly asked: AuthorizationRequest; readonly fields: Fields },
): CallbackResult {
  const receipt = cx.store.receipt(cx, authRequest, id)
  if (!receipt) throw new Error("a completed request is missing")
  const isPosted = asked.responseMode === "form_post" || isUnapprovedError(cx, asked, fields)
  const url = isPosted
    ? sealResponse(cx, { asked, fields })
    : appendParameters(asked, responseParameters(cx, asked, fields))
  return { url, receipt }
}

/**
 * Our own page asks the user first, because we can't read the sessions of the custom login page;
 * see `isUnapprovedRedirect`.
 */
const isUnapprovedError = (
  cx: Cx,
  { appId, redirectUri: uri }: AuthorizationRequest,
  fields: Fields,
) => fields.error !== undefined && isUnapprovedRedirect(cx, { appId, uri, present: [] })

/** Rejects a request whose redirect URI was removed meanwhile. */
export function requireValidRedirect(cx: Cx, request: AuthorizationRequest): void {
  if (!findRedirectProblem(cx, request)) return
  throw new Fault(
    "failed_precondition",
    "auth_request.application_gone",
    "the application or its redirect URI was removed",
  )
}
