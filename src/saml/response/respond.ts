import { showError } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { type CompletableRequest, completeAuthorization } from "./complete.ts"
import { type DeliveryPageOptions, send } from "./send.ts"
import { showTestResult } from "./sign-in-test.ts"

/** Completes a request after all steps; a test shows the result instead of sending it. */
export async function respond(
  cx: Cx,
  showing: DeliveryPageOptions,
  ready: CompletableRequest,
): Promise<Response> {
  const { show, cookies } = showing
  const expired = () => showError(show, cx, { problem: "expired", cookies })
  if (ready.asked.testedBy !== undefined) {
    return (await showTestResult(cx, show, { ready, cookies })) ?? expired()
  }
  const outgoing = await completeAuthorization(cx, ready)
  return outgoing ? send(cx, outgoing, showing) : expired()
}
