import "./group/guard.ts"
import { groupAuthorization } from "./group/model.ts"
import { groupAuthorizationChain } from "./group/query.ts"
import { groupAuthorizationView } from "./group/view.ts"
import { authorization } from "./model.ts"
import { authorizationChain } from "./query.ts"
import { authorizationView } from "./view.ts"

export {
  activateAuthorization,
  addAuthorization,
  createAuthorization,
  deactivateAuthorization,
  removeAuthorization,
  updateAuthorization,
} from "./commands.ts"
export { addGroupAuthorization } from "./group/commands.ts"
export { groupAuthorization } from "./group/model.ts"
export { listRolesFromGroups } from "./group/query.ts"
export { groupAuthorizationsOf } from "./group/view.ts"
export { type Authorization, type AuthorizationEvent, authorization } from "./model.ts"
export {
  authorizationIdsOf,
  checkProjectAccess,
  listOwnRolesByOrg,
  listRolesByOrg,
  listUserAuthorizations,
  type OrgRoles,
  projectAccessOf,
} from "./query.ts"

/** Everything that this module registers with the server. */
export const module = {
  aggregates: [authorization, groupAuthorization],
  views: [authorizationView, groupAuthorizationView],
  chains: { authorization: authorizationChain, group_authorization: groupAuthorizationChain },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
