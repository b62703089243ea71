import { type Cx, statement } from "../../store/index.ts"
import { isProjectThere, project } from "../project/index.ts"
import { heldByGroups } from "./group/query.ts"
import { groupAuthorizationsOf } from "./group/view.ts"
import { listUserAuthorizations } from "./query.ts"

/** Roles of a user on a project, and what gives them. */
export type EffectiveRoles = {
  readonly projectId: string
  readonly orgId: string
  /** Empty where the organization owns the project. */
  readonly grantId: string
  /** Of the user or of the group. */
  readonly authorizationId: string
  /** Undefined where the roles are the user's own. */
  readonly groupId: string | undefined
  readonly keys: readonly string[]
}

const ownProjects = statement<{ project: string }>(
  `SELECT DISTINCT project FROM authorizations
   WHERE instance = $instance AND user_id = $userId ORDER BY project`,
)

/** Every project role that a user has now, on one project or on all. */
export function effectiveRolesOf(
  cx: Cx,
  userId: string,
  projectId: string | undefined,
): readonly EffectiveRoles[] {
  const projects = projectId === undefined ? projectsOf(cx, userId) : [projectId]
  return projects
    .filter((id) => isProjectThere(cx.store.state(cx, project, id)))
    .flatMap((id) => rolesOn(cx, userId, id))
    .filter(({ keys }) => keys.length > 0)
}

function projectsOf(cx: Cx, userId: string): readonly string[] {
  const own = cx.store.all(cx, ownProjects, { userId }).map(({ project }) => project)
  const ofGroups = groupAuthorizationsOf(cx, userId).map(({ project }) => project)
  return [...new Set([...own, ...ofGroups])]
}

function rolesOn(cx: Cx, userId: string, projectId: string): readonly EffectiveRoles[] {
  const own = listUserAuthorizations(cx, userId, projectId).map((each) => ({
    ...each,
    groupId: undefined,
  }))
  return [...own, ...heldByGroups(cx, userId, projectId)].map(
    ({ id: authorizationId, orgId, grantId, groupId, keys }) => ({
      projectId,
      orgId,
      grantId,
      authorizationId,
      groupId,
      keys,
    }),
  )
}
