import { holdingView } from "./holding.ts"
import { projectGrant } from "./model.ts"
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
export { chains, grantIdOf, grantInForce, hasProject, rolesGranted } from "./query.ts"
export { grantsTo } from "./view.ts"

/** What this room keeps streams of. */
export const aggregates = [projectGrant] as const

/** What this room shows. */
export const views = [projectGrantView, holdingView] as const
