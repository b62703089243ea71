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
export { authorizationsOf, entryOf, givenOn, type Held, mayEnter, rolesHeld } from "./query.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [authorization],
  views: [authorizationView],
  chains: { authorization: authorizationChain },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
