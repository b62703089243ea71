import { type Cx, statement } from "../../store/index.ts"
import { isProjectThere, project } from "../project/index.ts"
import { listRolesFromGroups } from "./group/query.ts"
import { groupAuthorizationsOf } from "./group/view.ts"
import { listUserAuthorizations } from "./query.ts"

/** Roles that a user has on a project, and the authorization that assigns them. */
export type EffectiveRoles = {
  readonly projectId: string
  readonly orgId: string
  /** Empty if the organization owns the project. */
  readonly grantId: string
  /** The authorization of the user or of the group. */
  readonly authorizationId: string
  /** Absent if the authorization is the user's own. */
  readonly groupId: string | undefined
  readonly keys: readonly string[]
}

const ownProjectsOfUser = statement<{ project: string }>(
  `SELECT DISTINCT project FROM authorizations
   WHERE instance = $instance AND user_id = $userId ORDER BY project`,
)

/** Lists all project roles that a user has now, on one project or on all. */
export function listEffectiveRoles(
  cx: Cx,
  userId: string,
  projectId: string | undefined,
): readonly EffectiveRoles[] {
  const projects = projectId === undefined ? projectIdsOf(cx, userId) : [projectId]
  return projects
    .filter((id) => isProjectThere(cx.store.state(cx, project, id)))
    .flatMap((id) => rolesOnProject(cx, userId, id))
    .filter(({ keys }) => keys.length > 0)
}

function projectIdsOf(cx: Cx, userId: string): readonly string[] {
  const own = cx.store.all(cx, ownProjectsOfUser, { userId }).map(({ project }) => project)
  const fromGroups = groupAuthorizationsOf(cx, userId).map(({ project }) => project)
  return [...new Set([...own, ...fromGroups])]
}

function rolesOnProject(cx: Cx, userId: string, projectId: string): readonly EffectiveRoles[] {
  const own = listUserAuthorizations(cx, userId, projectId).map((each) => ({
    ...each,
    groupId: undefined,
  }))
  return [...own, ...listRolesFromGroups(cx, userId, projectId)].map(
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
