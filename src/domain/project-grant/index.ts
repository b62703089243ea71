import { holdingView } from "./holding.ts"
import { projectGrant } from "./model.ts"
import { chains } from "./query.ts"
import { projectGrantView } from "./view.ts"

export {
  activateGrant,
  addGrant,
  createGrant,
  currentGrantedKeys,
  deactivateGrant,
  findGrantId,
  type ProjectGrantInput,
  removeGrant,
  updateGrant,
} from "./commands.ts"
export {
  exists as isGrantThere,
  type ProjectGrant,
  type ProjectGrantEvent,
  type ProjectGrantStatus,
  projectGrant,
} from "./model.ts"
export { findActiveGrant, findGrantIdInOrg, hasProject, listGrantedRoles } from "./query.ts"
export { grantIdsTo } from "./view.ts"

/** Everything that this module registers with the server. */
export const module = {
  aggregates: [projectGrant],
  views: [projectGrantView, holdingView],
  chains,
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
