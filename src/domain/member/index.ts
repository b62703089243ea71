import { customRoles } from "./custom-role.ts"
import { member } from "./model.ts"
import { admin, auth, management } from "./v1.ts"
import { mine } from "./v1mine.ts"
import { system } from "./v1system.ts"
import { orgV2, projectV2, v2 } from "./v2.ts"
import { v2role } from "./v2role.ts"
import { v2search } from "./v2search.ts"
import { memberView } from "./view.ts"

export {
  addCreator,
  addMember,
  changeMember,
  permissionsOn,
  removeMember,
} from "./commands.ts"
export { rolePermissions, stateReader } from "./custom-role.ts"
export { type Member, type MemberEvent, member, type Target } from "./model.ts"
export { outranks } from "./rank.ts"
export { permissionsOf } from "./roles.ts"
export { type AdministratorRow, type Membership, memberships, memberView } from "./view.ts"

/** What this room keeps streams of. */
export const aggregates = [member, customRoles] as const

/** What this room shows. */
export const views = [memberView] as const

/** What this room answers of the book. */
export const shares = [
  v2,
  v2search,
  v2role,
  orgV2,
  projectV2,
  admin,
  auth,
  management,
  mine,
  system,
] as const
