import type { Cx } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { isOrgActive, isOrgThere } from "../org/index.ts"
import { isThere, project } from "./model.ts"
import { projectRoleView } from "./role-view.ts"
import { projectView } from "./view.ts"

export {
  activateProject,
  addProject,
  changeProject,
  createProject,
  deactivateProject,
  type ProjectInput,
  removeProject,
} from "./commands.ts"
export {
  type GroupsClaim,
  groupsClaims,
  isThere as isProjectThere,
  keysThere,
  labelings,
  type PrivateLabeling,
  type Project,
  type ProjectEvent,
  type ProjectFields,
  type ProjectStatus,
  project,
} from "./model.ts"
export { addRoles, changeRole, type NewRole, removeRole } from "./role.ts"
export { findRole, projectRoleView, type RoleRow, searchRoles } from "./role-view.ts"
export {
  findProject,
  type ProjectRow,
  projects,
  projectsOf,
  projectTable,
  projectView,
} from "./view.ts"

/** What the access to a project hangs from; undefined where there is none. */
export function projectChain(cx: Cx, id: string) {
  const state = cx.store.state(cx, project, id)
  if (!isThere(state) || !isOrgThere(cx, state.orgId)) return undefined
  // Applications of the instance's own project may act for whoever signs in, without asking them:
  // it is the instance's to look after, not the organisation's that it happens to lie in.
  if (cx.store.state(cx, instance, cx.instance).projectId === id) {
    return { instance: true, project: id, internal: true } as const
  }
  return { instance: true, org: state.orgId, project: id } as const
}

/** Whether a project and the organisation that owns it are both active. */
export function isProjectActive(cx: Pick<Cx, "store" | "instance">, id: string): boolean {
  const { status, orgId } = cx.store.state(cx, project, id)
  return status === "active" && isOrgActive(cx, orgId)
}

/** What this module is to the whole. */
export const module = {
  aggregates: [project],
  views: [projectView, projectRoleView],
  chains: { project: projectChain },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
