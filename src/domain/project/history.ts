import { historyOf } from "../../store/index.ts"
import { privateLabelings, project } from "./model.ts"

export const projectHistory = historyOf(project, {
  hidden: ["orgId", "rolesVersion"],
  sets: ["roles"],
  operations: "core.project.v2.ProjectService/*Project",
  present: ({ projectRoleCheck, hasProjectCheck, privateLabelingSetting, ...state }) => ({
    ...state,
    authorizationRequired: projectRoleCheck,
    projectAccessRequired: hasProjectCheck,
    privateLabelingSetting: privateLabelings.indexOf(privateLabelingSetting),
  }),
  unkept: ["project.role"],
  undo: {
    "project.role.changed": ({ event, earlier }) =>
      earlier && "displayName" in earlier.data
        ? ["UpdateProjectRole", { ...earlier.data, roleKey: event.data.key }]
        : "parts",
  },
})
