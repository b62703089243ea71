import { share } from "../../../api/method.ts"
import { NotificationType } from "../../../gen/core/user/v2/user_pb.ts"
import {
  type PasswordResetRequest,
  UserService,
} from "../../../gen/core/user/v2/user_service_pb.ts"
import { details, meaning } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import type { Channel } from "../../message-provider/index.ts"
import { createCode, mustBeModest } from "../code.ts"
import { requestReset } from "../reset.ts"

/** How people who have forgotten their password get another one. */
export const v2reset = share<Cx>()(UserService, { passwordReset: reset })

/** Without a word the code is sent by mail. Who has it can act as the person, wherever it goes. */
async function reset({ userId, medium }: PasswordResetRequest, cx: Cx) {
  const returned = medium.case === "returnCode"
  const { urlTemplate = "", notificationType = NotificationType.Unspecified } =
    medium.case === "sendLink" ? medium.value : {}
  const channel = meaning(channels, notificationType)
  const code = createCode(cx, userId, {
    of: "password",
    returned,
    urlTemplate,
    recipient: { channel },
  })
  mustBeModest(cx, userId, code)
  const receipt = await requestReset(cx, userId, { code, channel })
  return { details: details(receipt), ...(returned ? { verificationCode: code.plain } : {}) }
}

const channels: Readonly<Record<number, Channel>> = {
  [NotificationType.Unspecified]: "email",
  [NotificationType.Email]: "email",
  [NotificationType.SMS]: "sms",
}
