import { share } from "../../api/method.ts"
import { OrganizationService } from "../../gen/core/org/v2/organization_service_pb.ts"
import { at } from "../../protocol/api/answer.ts"
import type { Cx } from "../../store/index.ts"
import { addOrganizationDomain, verifyOrganizationDomain } from "./claim.ts"
import { removeOrganizationWithAll, stopOrganization } from "./removal.ts"

/** What is done to an organisation and reaches what it owns, or what others do. */
export const v2 = share<Cx>()(OrganizationService, {
  deactivateOrganization: async ({ organizationId }, cx) => ({
    changeDate: at((await stopOrganization(cx, organizationId)).changed),
  }),
  deleteOrganization: async ({ organizationId }, cx) => ({
    deletionDate: at((await removeOrganizationWithAll(cx, organizationId)).changed),
  }),
  addOrganizationDomain: async ({ organizationId, domain }, cx) => ({
    creationDate: at((await addOrganizationDomain(cx, organizationId, domain)).changed),
  }),
  verifyOrganizationDomain: async ({ organizationId, domain }, cx) => ({
    changeDate: at((await verifyOrganizationDomain(cx, organizationId, domain)).changed),
  }),
})
