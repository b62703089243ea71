import { holdingView } from "./holding.ts"
import { projectGrant } from "./model.ts"
import { management } from "./v1.ts"
import { v2 } from "./v2.ts"
import { v2project } from "./v2project.ts"
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

/** What this room answers of the book. */
export const shares = [management, v2, v2project] as const
