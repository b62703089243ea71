import { bindHandlers } from "../../api/method.ts"
import {
  type CreateInviteCodeRequest,
  UserService,
} from "../../gen/core/user/v2/user_service_pb.ts"
import { toDetails } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { createCode } from "../credential/index.ts"
import { inviteUser, verifyInvite } from "./invite.ts"

/** Operations on invitations of users who can't sign in yet. */
export const v2invite = bindHandlers<Cx>()(UserService, {
  createInviteCode: createInvite,
  resendInviteCode: async ({ userId }, cx) => {
    const code = createCode(cx, userId, { of: "invite", returned: false })
    return { details: toDetails(await inviteUser(cx, userId, { code, again: true })) }
  },
  verifyInviteCode: async ({ userId, verificationCode }, cx) => ({
    details: toDetails(await verifyInvite(cx, userId, verificationCode)),
  }),
})

/**
 * Sends the code by default. Anyone who has the code can sign in as the user, regardless of how it
 * was delivered.
 */
async function createInvite({ userId, verification }: CreateInviteCodeRequest, cx: Cx) {
  const returned = verification.case === "returnCode"
  const { urlTemplate = "", applicationName } =
    verification.case === "sendCode" ? verification.value : {}
  const code = createCode(cx, userId, { of: "invite", returned, urlTemplate })
  const receipt = await inviteUser(cx, userId, { code, applicationName })
  return { details: toDetails(receipt), ...(returned ? { inviteCode: code.plain } : {}) }
}
