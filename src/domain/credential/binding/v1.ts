import { bindHandlers } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import { requireUserId } from "../../../kernel/context.ts"
import { toDetails } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { preparePasswordChange, setPassword } from "../commands.ts"

/** Changes the password of the caller. */
export const selfPassword = bindHandlers<Cx>()(AuthService, {
  updateMyPassword: async ({ oldPassword: current, newPassword: plain }, cx) => {
    const newPasswordInput = { plain, changeRequired: false }
    const password = await preparePasswordChange(cx, requireUserId(cx), {
      password: newPasswordInput,
      proof: { current },
    })
    return { details: toDetails(await setPassword(cx, requireUserId(cx), password)) }
  },
})
