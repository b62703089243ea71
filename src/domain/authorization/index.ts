import { authorization } from "./model.ts"
import { authorizationChain } from "./query.ts"
import { authorizationView } from "./view.ts"

export {
  activateAuthorization,
  addAuthorization,
  changeAuthorization,
  createAuthorization,
  deactivateAuthorization,
  removeAuthorization,
} from "./commands.ts"
export { type Authorization, type AuthorizationEvent, authorization } from "./model.ts"
export { type Held, mayEnter, rolesHeld } from "./query.ts"

/** What this room keeps streams of. */
export const aggregates = [authorization] as const

/** What this room shows. */
export const views = [authorizationView] as const

/** What an access rule may hang from, by the name of the resource. */
export const chains = { authorization: authorizationChain }
