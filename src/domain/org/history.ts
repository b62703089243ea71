import { historyOf } from "../../store/index.ts"
import { metadataUndo } from "./metadata.ts"
import { org } from "./model.ts"
import { toOrgOidc } from "./v2-oidc.ts"

export const orgHistory = historyOf(org, {
  hidden: ["stops", "stoppedBy"],
  operations: "core.org.v2.OrganizationService/*Organization",
  target: ({ id }) => ({ organizationId: id }),
  present: ({ name, oidc = {} }) => ({ name, oidcSettings: toOrgOidc(oidc) }),
  unkept: ["org.metadata"],
  undo: {
    "org.oidc.settings.set": "UpdateOrganization",
    "org.domain.primary.set": ({ before: { primaryDomain: domain } }) =>
      domain === ""
        ? "parts"
        : ["core.management.v1.ManagementService/SetPrimaryOrgDomain", { domain }],
    "org.metadata.set": metadataUndo("OrganizationMetadata"),
  },
  noUndo: {
    proof: ["org.domain.verification.added", "org.domain.trusted", "org.domain.verified"],
  },
})
