import { appAssignment } from "./model.ts"
import { assignmentView } from "./view.ts"

export { addAssignment } from "./commands.ts"
export { appDenial, appEntryOf, canUseClient, type Denial } from "./query.ts"
export {
  hasNetworks,
  isInNetworks,
  requirementsOfApp,
  type SignInProof,
  satisfiedUntil,
} from "./requirement.ts"
export { assignmentsOf } from "./view.ts"

/** The parts that this module registers with the server. */
export const module = {
  aggregates: [appAssignment],
  views: [assignmentView],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
