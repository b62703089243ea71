import { bindHandlers } from "../../api/method.ts"
import { OrganizationService } from "../../gen/core/org/v2/organization_service_pb.ts"
import type { Cx } from "../../store/index.ts"
import { metadataOperations } from "../family/api.ts"
import { orgMetadata } from "./metadata.ts"
import { metadataEntries } from "./metadata-view.ts"

const metadata = metadataOperations({ ...orgMetadata, entries: metadataEntries, column: "org" })

export const v2metadata = bindHandlers<Cx>()(OrganizationService, {
  setOrganizationMetadata: (req, cx) => metadata.set(cx, req.organizationId, req.metadata),
  deleteOrganizationMetadata: (req, cx) => metadata.remove(cx, req.organizationId, req.keys),
  listOrganizationMetadata: (req, cx) => metadata.list(cx, req.organizationId, req),
})
