import { registration, registrationCount } from "./registration.ts"

export {
  acceptInvite,
  beginInvitedKey,
  type FirstCredential,
  getInvitation,
  prepareInvitedPassword,
} from "./invite.ts"
export {
  beginRegistrationKey,
  checkRegistration,
  completeRegistration,
  createApprovedUser,
  findNewHuman,
  findRegistrant,
  hasAccount,
  parseRegistrant,
  preparePassword,
  registrationCode,
  requestRegistration,
  submitRegistration,
} from "./registration.ts"

/** Parts of this module that the server loads. */
export const module = {
  aggregates: [registration, registrationCount],
  operations: () => import("./api.ts"),
} as const
