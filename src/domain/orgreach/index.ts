import { v2 } from "./v2.ts"

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

/** What this room answers of the book. */
export const shares = [v2] as const
