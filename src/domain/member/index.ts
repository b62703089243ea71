import "./group/guard.ts"
import { customRoles } from "./custom-role.ts"
import { groupAdministrator } from "./group/model.ts"
import { groupAdministratorView } from "./group/view.ts"
import { member } from "./model.ts"
import { memberView } from "./view.ts"

export {
  addCreator,
  addFounder,
  addMember,
  removeMember,
  requireVisibleUser,
  updateMember,
} from "./commands.ts"
export { customRoles, rolePermissions, stateReader } from "./custom-role.ts"
export { groupAdministrator, groupAdministratorId } from "./group/model.ts"
export { type Member, type MemberEvent, member, memberId, type Target } from "./model.ts"
export {
  canReadUser,
  findMissingPermission,
  listPermissionHolders,
  permissionsOn,
} from "./permission.ts"
export {
  isActive,
  outranks,
  outranksDeactivators,
  outranksInstance,
  outranksOrg,
} from "./rank.ts"
export { permissionsOf } from "./roles.ts"
export {
  type AdministratorRow,
  isManager,
  listMemberships,
  type Membership,
  memberView,
} from "./view.ts"

/** Everything that this module registers with the server. */
export const module = {
  aggregates: [member, customRoles, groupAdministrator],
  views: [memberView, groupAdministratorView],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
