import { appAssignment } from "./model.ts"
import { assignmentView } from "./view.ts"

export { addAssignment } from "./commands.ts"
export { canUseClient, checkAppAccess, type Denial, findAppDenial } from "./query.ts"
export {
  hasNetworks,
  isInNetworks,
  requirementsOfApp,
  type SignInProof,
  signInProofExpiry,
} from "./requirement.ts"
export { assignmentsOf } from "./view.ts"

/** Everything that this module registers with the server. */
export const module = {
  aggregates: [appAssignment],
  views: [assignmentView],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
