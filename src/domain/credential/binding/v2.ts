import { bindHandlers } from "../../../api/method.ts"
import type { SetPassword } from "../../../gen/core/user/v2/user_pb.ts"
import { type SetPasswordRequest, UserService } from "../../../gen/core/user/v2/user_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { toDetails } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { type PasswordChange, preparePasswordChange, setPassword } from "../commands.ts"
import type { NewPassword } from "../new-password.ts"

/** Sets the passwords of users. */
export const v2password = bindHandlers<Cx>()(UserService, {
  setPassword: async (req, cx) => ({
    details: toDetails(await setPassword(cx, req.userId, await preparePassword(cx, req))),
  }),
})

function preparePassword(cx: Cx, req: SetPasswordRequest): Promise<NewPassword> {
  const { newPassword: value, verification, userId } = req
  if (!value) throw passwordMissingError()
  const change = passwordChangeFrom({ passwordType: { case: "password", value }, verification })
  return preparePasswordChange(cx, userId, change)
}

/** Reads a new password and its proof from a request. */
export function passwordChangeFrom({
  passwordType,
  verification,
}: Pick<SetPassword, "passwordType" | "verification">): PasswordChange {
  const { case: form, value } = passwordType
  if (form === undefined) throw passwordMissingError()
  const { changeRequired } = value
  return {
    password:
      form === "password"
        ? { plain: value.password, changeRequired }
        : { hash: value.hash, changeRequired },
    proof: proofOf(verification),
  }
}

function proofOf({ case: by, value }: SetPassword["verification"]): PasswordChange["proof"] {
  if (by === undefined) return undefined
  return by === "currentPassword" ? { current: value } : { code: value }
}

const passwordMissingError = () =>
  new Fault("invalid_argument", "user.password_missing", "password is required")
