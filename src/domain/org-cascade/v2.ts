import { bindHandlers } from "../../api/method.ts"
import { OrganizationService } from "../../gen/core/org/v2/organization_service_pb.ts"
import { toTimestamp } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { addOrganizationDomain, verifyOrganizationDomain } from "./claim.ts"
import { deactivateOrganizationChecked, removeOrganizationCascade } from "./removal.ts"

/** Operations on organizations that affect what they or other organizations own. */
export const v2 = bindHandlers<Cx>()(OrganizationService, {
  deactivateOrganization: async ({ organizationId }, cx) => ({
    changeDate: toTimestamp((await deactivateOrganizationChecked(cx, organizationId)).changed),
  }),
  deleteOrganization: async ({ organizationId }, cx) => ({
    deletionDate: toTimestamp((await removeOrganizationCascade(cx, organizationId)).changed),
  }),
  addOrganizationDomain: async ({ organizationId, domain }, cx) => ({
    creationDate: toTimestamp((await addOrganizationDomain(cx, organizationId, domain)).changed),
  }),
  verifyOrganizationDomain: async ({ organizationId, domain }, cx) => ({
    changeDate: toTimestamp((await verifyOrganizationDomain(cx, organizationId, domain)).changed),
  }),
})
