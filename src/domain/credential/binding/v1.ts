import { share } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import { callerOf } from "../../../kernel/context.ts"
import { details } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { changedPassword, setPassword } from "../commands.ts"

/** The password of the caller. */
export const selfPassword = share<Cx>()(AuthService, {
  updateMyPassword: async ({ oldPassword: current, newPassword: plain }, cx) => {
    const wanted = { plain, changeRequired: false }
    const password = await changedPassword(cx, callerOf(cx), { wanted, proof: { current } })
    return { details: details(await setPassword(cx, callerOf(cx), password)) }
  },
})
