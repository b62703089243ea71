import { bindHandlers } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import { requireUserId } from "../../../kernel/context.ts"
import { toDetails } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { requireContactOwner } from "../../user/index.ts"
import { user } from "../../user-model/index.ts"
import { requireUserRow } from "../query.ts"
import type { UserRow } from "../view.ts"
import { toHuman } from "./v1.ts"

/** Operations of callers on their own user. */
export const mine = bindHandlers<Cx>()(AuthService, {
  getMyProfile: (_, cx) => ({
    ...rowDetails(requireOwnRow(cx)),
    profile: toHuman(cx, requireOwnRow(cx)).profile,
  }),
  getMyEmail: (_, cx) => ({
    ...rowDetails(requireOwnRow(cx)),
    email: toHuman(cx, requireOwnRow(cx)).email,
  }),
  getMyPhone: (_, cx) => ({ ...rowDetails(requireOwnRow(cx)), ...toPhone(cx, requireOwnRow(cx)) }),
})

/** The row of the caller. Throws if the caller is not a human user. */
function requireOwnRow(cx: Cx): UserRow {
  const id = requireUserId(cx)
  requireContactOwner(cx.store.state(cx, user, id))
  return requireUserRow(cx, id)
}

const rowDetails = (row: UserRow) => ({ details: toDetails({ ...row, owner: row.org }) })

function toPhone(cx: Cx, row: UserRow) {
  const { phone } = toHuman(cx, row)
  return phone ? { phone } : {}
}
