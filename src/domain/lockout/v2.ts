import { bindHandlers } from "../../api/method.ts"
import {
  ActivityService,
  FailedCheck as FailedCheckMessage,
} from "../../gen/core/activity/v2/activity_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import { toPagination, toTimestamp } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { type FailedCheck, listFailedSignIns } from "./failure.ts"

export const v2failure = bindHandlers<Cx>()(ActivityService, {
  listFailedSignIns: (req, cx) => {
    const result = listFailedSignIns(cx, req.userId, parsePage(req.pagination))
    const isShown = isSenderVisible(cx, req.userId)
    const shown = result.rows.map(({ time, known, failed, address, user_agent }) => ({
      creationDate: toTimestamp(time),
      check: checkMessages[failed],
      ...(known !== null && { knownDevice: known }),
      ...(isShown && { address, userAgent: user_agent }),
    }))
    return { pagination: toPagination(result), failedSignIns: shown }
  },
})

/**
 * The sender is shown to the user and to callers who can read the user's sessions, which also
 * contain addresses.
 */
const isSenderVisible = (cx: Cx, userId: string): boolean =>
  (cx.caller.kind === "user" && cx.caller.userId === userId) || cx.holds?.("session.read") === true

const checkMessages = {
  password: FailedCheckMessage.PASSWORD,
  totp: FailedCheckMessage.TOTP,
  otp_email: FailedCheckMessage.OTP_EMAIL,
  otp_sms: FailedCheckMessage.OTP_SMS,
  recovery_code: FailedCheckMessage.RECOVERY_CODE,
  u2f: FailedCheckMessage.SECURITY_KEY,
  passkey: FailedCheckMessage.PASSKEY,
} as const satisfies Record<FailedCheck, FailedCheckMessage>
