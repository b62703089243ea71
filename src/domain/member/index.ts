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
  changeMember,
  mustSeeUser,
  removeMember,
} from "./commands.ts"
export { customRoles, rolePermissions, stateReader } from "./custom-role.ts"
export { groupAdministrator, groupAdministratorId } from "./group/model.ts"
export { lackingOf as lackingOn, mayReadUser, permissionHolders, permissionsOn } from "./held.ts"
export { type Member, type MemberEvent, member, memberId, type Target } from "./model.ts"
export {
  isActive,
  outranks,
  outranksAll,
  outranksInstance,
  outranksStoppers,
} from "./rank.ts"
export { permissionsOf } from "./roles.ts"
export {
  type AdministratorRow,
  isManager,
  type Membership,
  memberships,
  memberView,
} from "./view.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [member, customRoles, groupAdministrator],
  views: [memberView, groupAdministratorView],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
