import { share } from "../../../api/method.ts"
import type { SetPassword } from "../../../gen/core/user/v2/user_pb.ts"
import { type SetPasswordRequest, UserService } from "../../../gen/core/user/v2/user_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { details } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { changedPassword, type NewPassword, type PasswordChange, setPassword } from "../commands.ts"

/** The passwords of people. */
export const v2password = share<Cx>()(UserService, {
  setPassword: async (req, cx) => ({
    details: details(await setPassword(cx, req.userId, await wantedPassword(cx, req))),
  }),
})

function wantedPassword(cx: Cx, req: SetPasswordRequest): Promise<NewPassword> {
  const { newPassword: value, verification, userId } = req
  if (!value) throw passwordMissing()
  const asked = passwordWish({ passwordType: { case: "password", value }, verification })
  return changedPassword(cx, userId, asked)
}

/** A new password as any request states it, and what it is backed by. */
export function passwordWish({
  passwordType,
  verification,
}: Pick<SetPassword, "passwordType" | "verification">): PasswordChange {
  const { case: form, value } = passwordType
  if (form === undefined) throw passwordMissing()
  const { changeRequired } = value
  return {
    wanted:
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

const passwordMissing = () =>
  new Fault("invalid_argument", "user.password_missing", "say the new password")
