import { share } from "../../../api/method.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { findByUserName } from "../find-name.ts"
import { findUser } from "../query.ts"
import type { UserRow } from "../view.ts"
import { toUser } from "./v1.ts"

/** Finding users of other organisations, whose login name one knows. */
export const managementGlobal = share<Cx>()(ManagementService, {
  getUserByLoginNameGlobal: ({ loginName }, cx) => {
    const id = findByUserName(cx, loginName)
    if (id === undefined) throw new Fault("not_found", "user.missing", "there is no such user")
    const row = findUser(cx, id)
    return { user: toUser(cx, isWithin(cx, row) ? row : recognisable(row)) }
  },
})

/** Whether the caller's roles reach the user, and not only others of the instance. */
const isWithin = ({ scope }: Cx, { org }: UserRow): boolean =>
  scope !== undefined && (scope.all || scope.orgs.includes(org))

/** Enough to see that it is who one looked for. */
const recognisable = (row: UserRow): UserRow => ({
  ...row,
  email: "",
  email_verified: false,
  phone: "",
  phone_verified: false,
  preferred_language: "",
  gender: "unspecified",
  password_changed: 0,
})
