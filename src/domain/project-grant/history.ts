import { historyOf } from "../../store/index.ts"
import { projectGrant } from "./model.ts"

export const projectGrantHistory = historyOf(projectGrant, {
  hidden: ["orgId", "rolesVersion", "changedIn"],
  sets: ["roles"],
  operations: "core.project.v2.ProjectService/*ProjectGrant",
  target: ({ now: { projectId, grantedOrgId } }) => ({
    projectId,
    grantedOrganizationId: grantedOrgId,
  }),
  present: ({ roles }) => ({ roleKeys: Object.keys(roles) }),
})
