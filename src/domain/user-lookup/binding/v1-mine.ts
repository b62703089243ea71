import { share } from "../../../api/method.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import { callerOf } from "../../../kernel/context.ts"
import { details } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { personOf } from "../../user/index.ts"
import { user } from "../../user-model/index.ts"
import { findUser } from "../query.ts"
import type { UserRow } from "../view.ts"
import { toHuman } from "./v1.ts"

/** What callers see of themselves. */
export const mine = share<Cx>()(AuthService, {
  getMyProfile: (_, cx) => ({ ...standing(me(cx)), profile: toHuman(cx, me(cx)).profile }),
  getMyEmail: (_, cx) => ({ ...standing(me(cx)), email: toHuman(cx, me(cx)).email }),
  getMyPhone: (_, cx) => ({ ...standing(me(cx)), ...phoneOf(cx, me(cx)) }),
})

/** The caller, who is a person. */
function me(cx: Cx): UserRow {
  const id = callerOf(cx)
  personOf(cx.store.state(cx, user, id))
  return findUser(cx, id)
}

const standing = (row: UserRow) => ({ details: details({ ...row, owner: row.org }) })

function phoneOf(cx: Cx, row: UserRow) {
  const { phone } = toHuman(cx, row)
  return phone ? { phone } : {}
}
