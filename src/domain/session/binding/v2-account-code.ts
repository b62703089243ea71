import { share } from "../../../api/method.ts"
import { ActivityService } from "../../../gen/core/activity/v2/activity_service_pb.ts"
import { callerOf } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { sendAccountCode, verifyAccountCode } from "../account-code.ts"

/** How users show that it is they who change their account, where they can't sign in freshly. */
export const activity = share<Cx>()(ActivityService, {
  sendAccountCode: async (_, cx) => ({ email: await sendAccountCode(cx, signedInBy(cx)) }),
  verifyAccountCode: async ({ code }, cx) => {
    await verifyAccountCode(cx, signedInBy(cx), code)
    return {}
  },
})

function signedInBy(cx: Cx) {
  const userId = callerOf(cx)
  const { sessionId, clientId = "" } = cx.caller.kind === "user" ? cx.caller : {}
  if (sessionId !== undefined) return { userId, sessionId, clientId }
  throw new Fault(
    "failed_precondition",
    "session.account_code_no_sign_in",
    "this requires a token of a sign-in in a browser that has not ended",
  )
}
