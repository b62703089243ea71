import { bindHandlers } from "../../../api/method.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { findByUserName } from "../find-name.ts"
import { requireUserRow } from "../query.ts"
import type { UserRow } from "../view.ts"
import { toUser } from "./v1.ts"

/** Finds users of other organizations by exact login name. */
export const managementGlobal = bindHandlers<Cx>()(ManagementService, {
  getUserByLoginNameGlobal: ({ loginName }, cx) => {
    const id = findByUserName(cx, loginName)
    if (id === undefined) throw new Fault("not_found", "user.missing", "user not found")
    const row = requireUserRow(cx, id)
    return { user: toUser(cx, isInScope(cx, row) ? row : withoutPrivateFields(row)) }
  },
})

/** Whether the user is in the scope of the caller's roles. */
const isInScope = ({ scope }: Cx, { org }: UserRow): boolean =>
  scope !== undefined && (scope.all || scope.orgs.includes(org))

/** Only the fields needed to recognize the user. */
const withoutPrivateFields = (row: UserRow): UserRow => ({
  ...row,
  email: "",
  email_verified: false,
  phone: "",
  phone_verified: false,
  preferred_language: "",
  gender: "unspecified",
  password_changed: 0,
})
