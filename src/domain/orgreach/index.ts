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
