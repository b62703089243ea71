import { share } from "../../api/method.ts"
import {
  ActivityService,
  FailedCheck as FailedCheckMessage,
} from "../../gen/core/activity/v2/activity_service_pb.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, pagination } from "../../protocol/api/answer.ts"
import type { Cx } from "../../store/index.ts"
import { type FailedCheck, failedSignIns } from "./failure.ts"

export const v2failure = share<Cx>()(ActivityService, {
  listFailedSignIns: (req, cx) => {
    const found = failedSignIns(cx, req.userId, pageOf(req.pagination))
    const isShown = showsSender(cx, req.userId)
    const shown = found.rows.map(({ time, known, failed, address, user_agent }) => ({
      creationDate: at(time),
      check: checks[failed],
      ...(known !== null && { knownDevice: known }),
      ...(isShown && { address, userAgent: user_agent }),
    }))
    return { pagination: pagination(found), failedSignIns: shown }
  },
})

/** Sessions tell where people sign in from, too: to themselves, and to who may read those. */
const showsSender = (cx: Cx, userId: string): boolean =>
  (cx.caller.kind === "user" && cx.caller.userId === userId) || cx.holds?.("session.read") === true

const checks = {
  password: FailedCheckMessage.PASSWORD,
  totp: FailedCheckMessage.TOTP,
  otp_email: FailedCheckMessage.OTP_EMAIL,
  otp_sms: FailedCheckMessage.OTP_SMS,
  recovery_code: FailedCheckMessage.RECOVERY_CODE,
  u2f: FailedCheckMessage.SECURITY_KEY,
  passkey: FailedCheckMessage.PASSKEY,
} as const satisfies Record<FailedCheck, FailedCheckMessage>
