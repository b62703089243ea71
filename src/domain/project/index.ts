import type { Cx } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { isOrgActive, orgExists } from "../org/index.ts"
import { exists, project } from "./model.ts"
import { projectRoleView } from "./role-view.ts"
import { projectView } from "./view.ts"

export {
  activateProject,
  addProject,
  createProject,
  deactivateProject,
  type ProjectInput,
  removeProject,
  updateProject,
} from "./commands.ts"
export {
  currentKeys,
  exists as isProjectThere,
  type GroupsClaim,
  groupsClaims,
  type PrivateLabeling,
  type Project,
  type ProjectEvent,
  type ProjectFields,
  type ProjectStatus,
  privateLabelings,
  project,
} from "./model.ts"
export { addRoles, type RoleInput, removeRole, updateRole } from "./role.ts"
export { getRole, projectRoleView, type RoleRow, searchRoles } from "./role-view.ts"
export {
  getProject,
  type ProjectRow,
  projectIdsOf,
  projects,
  projectTable,
  projectView,
} from "./view.ts"

/** The owner chain of a project, for access checks; undefined if the project does not exist. */
export function projectChain(cx: Cx, id: string) {
  const state = cx.store.state(cx, project, id)
  if (!exists(state) || !orgExists(cx, state.orgId)) return undefined
  // Applications of the console's project can act for every user without their consent. So the
  // project belongs to the instance, not to the organization that owns it.
  if (cx.store.state(cx, instance, cx.instance).projectId === id) {
    return { instance: true, project: id, internal: true } as const
  }
  return { instance: true, org: state.orgId, project: id } as const
}

/** Whether a project and the organization that owns it are active. */
export function isProjectActive(cx: Pick<Cx, "store" | "instance">, id: string): boolean {
  const { status, orgId } = cx.store.state(cx, project, id)
  return status === "active" && isOrgActive(cx, orgId)
}

/** Everything that this module registers with the server. */
export const module = {
  aggregates: [project],
  views: [projectView, projectRoleView],
  chains: { project: projectChain },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
