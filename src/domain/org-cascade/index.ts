import { domainClaims } from "./claim.ts"
import { organizationRemoval } from "./removal.ts"

export {
  addOrganizationDomain,
  claimNames,
  domainClaims,
  verifyOrganizationDomain,
} from "./claim.ts"
export {
  clearOrganization,
  organizationRemoval,
  removeOrganizationWithAll,
  stopOrganization,
} from "./removal.ts"

/** What this module is to the whole. */
export const module = {
  reactors: [organizationRemoval, domainClaims],
  operations: () => import("./api.ts"),
} as const
