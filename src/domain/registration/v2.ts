import { share } from "../../api/method.ts"
import {
  type CreateInviteCodeRequest,
  UserService,
} from "../../gen/core/user/v2/user_service_pb.ts"
import { details } from "../../protocol/api/answer.ts"
import type { Cx } from "../../store/index.ts"
import { createCode } from "../credential/index.ts"
import { inviteUser, verifyInvite } from "./invite.ts"

/** How people who can't sign in yet come in. */
export const v2invite = share<Cx>()(UserService, {
  createInviteCode: create,
  resendInviteCode: async ({ userId }, cx) => {
    const code = createCode(cx, userId, { of: "invite", returned: false })
    return { details: details(await inviteUser(cx, userId, { code, again: true })) }
  },
  verifyInviteCode: async ({ userId, verificationCode }, cx) => ({
    details: details(await verifyInvite(cx, userId, verificationCode)),
  }),
})

/** Without a word the code is sent. Who has it can act as the person, wherever it goes. */
async function create({ userId, verification }: CreateInviteCodeRequest, cx: Cx) {
  const returned = verification.case === "returnCode"
  const { urlTemplate = "", applicationName } =
    verification.case === "sendCode" ? verification.value : {}
  const code = createCode(cx, userId, { of: "invite", returned, urlTemplate })
  const receipt = await inviteUser(cx, userId, { code, applicationName })
  return { details: details(receipt), ...(returned ? { inviteCode: code.plain } : {}) }
}
