import type { Cx } from "../../store/index.ts"
import { isOrgActive } from "../org/index.ts"
import { isThere, project } from "./model.ts"

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
  isThere as isProjectThere,
  type PrivateLabeling,
  type Project,
  type ProjectEvent,
  type ProjectFields,
  type ProjectStatus,
  project,
} from "./model.ts"
export { type ProjectRow, projectRow, projects, projectView } from "./view.ts"

/** What the access to a project hangs from; undefined where there is none. */
export function projectChain(cx: Cx, id: string) {
  const state = cx.store.state(cx, project, id)
  return isThere(state) ? ({ instance: true, org: state.orgId, project: id } as const) : undefined
}

/** What an access rule may hang from, by the name of the resource. */
export const chains = { project: projectChain }

/** Whether a project and the organisation that owns it are both active. */
export function isProjectActive(cx: Pick<Cx, "store" | "instance">, id: string): boolean {
  const { status, orgId } = cx.store.state(cx, project, id)
  return status === "active" && isOrgActive(cx, orgId)
}
