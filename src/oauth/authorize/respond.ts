import { refundPushedRequest } from "../../domain/grant/index.ts"
import { applicationName, type ShowPage, showError } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { type CompletableRequest, completeAuthorization } from "./complete.ts"
import { type AuthorizationResponse, sendResponse } from "./response.ts"
import { showTestResult } from "./sign-in-test.ts"

/** `cookies` are Set-Cookie headers. */
type RespondOptions = Pick<AuthorizationResponse, "cookies" | "isAfterForm"> & {
  readonly ready: CompletableRequest
}

/**
 * Completes a request and sends the response to the client, or to the administrator who tests the
 * application.
 */
export async function respond(cx: Cx, show: ShowPage, options: RespondOptions): Promise<Response> {
  const { ready, ...sent } = options
  const { cookies } = sent
  const { asked, store } = ready
  const expired = () => showError(show, cx, { problem: "expired", cookies })
  if (asked.testedBy !== undefined) return (await showTestResult(cx, show, options)) ?? expired()
  const fields = await completeAuthorization(cx, ready)
  if (!fields) return expired()
  // A completed request no longer counts toward the rate limit.
  if (!store) cx.allowance?.refund("request")
  refundPushedRequest(cx, asked)
  const application = applicationName(cx, asked.clientId)
  return sendResponse(cx, show, { back: asked, application, fields, ...sent })
}
