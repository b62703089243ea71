import type { Cx } from "../../store/index.ts"

export {
  addCreator,
  addMember,
  changeMember,
  permissionsOn,
  removeMember,
} from "./commands.ts"
export { type Member, type MemberEvent, member, type Target } from "./model.ts"
export { permissionsOf } from "./roles.ts"
export { type AdministratorRow, type Membership, memberships, memberView } from "./view.ts"

/**
 * What an access rule may hang from, by the name of the resource. Nothing makes project grants
 * yet, so whoever names one names something absent.
 */
export const chains = { grant: (_cx: Cx, _id: string): undefined => undefined }
