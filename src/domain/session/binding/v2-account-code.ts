import { bindHandlers } from "../../../api/method.ts"
import { ActivityService } from "../../../gen/core/activity/v2/activity_service_pb.ts"
import { requireUserId } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { sendAccountCode, verifyAccountCode } from "../account-code.ts"

/** Codes by email that confirm account changes of users who can't perform a fresh sign-in. */
export const activity = bindHandlers<Cx>()(ActivityService, {
  sendAccountCode: async (_, cx) => ({
    email: await sendAccountCode(cx, requireBrowserSession(cx)),
  }),
  verifyAccountCode: async ({ code }, cx) => {
    await verifyAccountCode(cx, requireBrowserSession(cx), code)
    return {}
  },
})

function requireBrowserSession(cx: Cx) {
  const userId = requireUserId(cx)
  const { sessionId, clientId = "" } = cx.caller.kind === "user" ? cx.caller : {}
  if (sessionId !== undefined) return { userId, sessionId, clientId }
  throw new Fault(
    "failed_precondition",
    "session.account_code_no_sign_in",
    "this requires an access token from an active browser session",
  )
}
