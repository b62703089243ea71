import { domainClaims } from "./claim.ts"
import { organizationRemoval } from "./removal.ts"

export {
  addOrganizationDomain,
  claimNames,
  domainClaims,
  verifyOrganizationDomain,
} from "./claim.ts"
export {
  deactivateOrganizationChecked,
  organizationRemoval,
  removeOrganizationCascade,
  removeOwnedResources,
} from "./removal.ts"

/** The registration of this module. */
export const module = {
  reactors: [organizationRemoval, domainClaims],
  operations: () => import("./api.ts"),
} as const
