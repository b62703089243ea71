import { holdingView } from "./holding.ts"
import { projectGrant } from "./model.ts"
import { chains } from "./query.ts"
import { projectGrantView } from "./view.ts"

export {
  activateGrant,
  addGrant,
  changeGrant,
  createGrant,
  deactivateGrant,
  type GrantInput,
  grantBetween,
  keysGranted,
  removeGrant,
} from "./commands.ts"
export {
  isThere as isGrantThere,
  type ProjectGrant,
  type ProjectGrantEvent,
  type ProjectGrantStatus,
  projectGrant,
} from "./model.ts"
export { grantIdOf, grantInForce, hasProject, rolesGranted } from "./query.ts"
export { grantsTo } from "./view.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [projectGrant],
  views: [projectGrantView, holdingView],
  chains,
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
