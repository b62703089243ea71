import { registration, registrationCount } from "./registration.ts"

export {
  acceptInvite,
  type FirstCredential,
  invitationOf,
  invitedKey,
  invitedPassword,
} from "./invite.ts"
export {
  addApproved,
  askRegistration,
  checkRegistration,
  completeRegistration,
  hasAccount,
  personAsked,
  registrantBy,
  registrantOf,
  registrationCode,
  registrationKey,
  registrationPassword,
  submitRegistration,
} from "./registration.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [registration, registrationCount],
  operations: () => import("./api.ts"),
} as const
