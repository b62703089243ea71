import { bindHandlers } from "../../../api/method.ts"
import { NotificationType } from "../../../gen/core/user/v2/user_pb.ts"
import {
  type PasswordResetRequest,
  UserService,
} from "../../../gen/core/user/v2/user_service_pb.ts"
import { toDetails, valueOfEnum } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import type { Channel } from "../../message-provider/index.ts"
import { createCode, requireSafeDelivery } from "../code.ts"
import { requestReset } from "../reset.ts"

/** Operations for users who forgot their password. */
export const v2reset = bindHandlers<Cx>()(UserService, { passwordReset: sendResetCode })

/**
 * Sends the code by email by default. Anyone who has the code can sign in as the user, regardless
 * of how it was delivered.
 */
async function sendResetCode({ userId, medium }: PasswordResetRequest, cx: Cx) {
  const returned = medium.case === "returnCode"
  const { urlTemplate = "", notificationType = NotificationType.Unspecified } =
    medium.case === "sendLink" ? medium.value : {}
  const channel = valueOfEnum(channels, notificationType)
  const code = createCode(cx, userId, {
    of: "password",
    returned,
    urlTemplate,
    recipient: { channel },
  })
  requireSafeDelivery(cx, userId, code)
  const receipt = await requestReset(cx, userId, { code, channel })
  return { details: toDetails(receipt), ...(returned ? { verificationCode: code.plain } : {}) }
}

const channels: Readonly<Record<number, Channel>> = {
  [NotificationType.Unspecified]: "email",
  [NotificationType.Email]: "email",
  [NotificationType.SMS]: "sms",
}
