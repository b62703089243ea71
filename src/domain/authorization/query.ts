import { type Cx, statement } from "../../store/index.ts"
import { isProjectThere, type Project, project, projectChain } from "../project/index.ts"
import {
  findActiveGrant,
  findGrantIdInOrg,
  hasProject,
  projectGrant,
} from "../project-grant/index.ts"
import { isAbsent, user } from "../user-model/index.ts"
import { currentRoles } from "./commands.ts"
import { listRolesFromGroups } from "./group/query.ts"
import { type Authorization, authorization, exists } from "./model.ts"

/** Roles of a user on a project, and the organization that assigned them. */
export type OrgRoles = { readonly orgId: string; readonly keys: readonly string[] }

/**
 * All roles that a user currently has on a project, their own and those from groups, by assigning
 * organization: one entry for each organization, each role once.
 */
export function listRolesByOrg(cx: Cx, userId: string, projectId: string): readonly OrgRoles[] {
  const own = listOwnRolesByOrg(cx, userId, projectId)
  const authorizedProject = cx.store.state(cx, project, projectId)
  const fromGroups = isProjectThere(authorizedProject)
    ? listRolesFromGroups(cx, userId, projectId)
    : []
  if (fromGroups.length === 0) return own
  const keys = new Map<string, Set<string>>()
  for (const each of [...own, ...fromGroups]) {
    keys.set(each.orgId, new Set([...(keys.get(each.orgId) ?? []), ...each.keys]))
  }
  return [...keys].map(([orgId, orgKeys]) => ({ orgId, keys: [...orgKeys] }))
}

/** The roles of a user by assigning organization, without roles from groups. */
export function listOwnRolesByOrg(cx: Cx, userId: string, projectId: string): readonly OrgRoles[] {
  const authorizedProject = cx.store.state(cx, project, projectId)
  if (!isProjectThere(authorizedProject)) return []
  return activeAuthorizations(cx, userId, projectId).map((each) => ({
    orgId: each.orgId,
    keys: currentKeysOf(cx, authorizedProject, each),
  }))
}

/**
 * Whether a user can sign in to the applications of a project, with the results of the individual
 * checks.
 */
export type ProjectAccess = {
  readonly answer: "yes" | "no roles" | "no project"
  /**
   * Whether the user's organization has the project; undefined if the project doesn't require it.
   */
  readonly hasProject: boolean | undefined
  /** Whether the user has roles on the project; undefined if this was not checked. */
  readonly hasRoles: boolean | undefined
}

/**
 * Whether a user can sign in to the applications of a project, by the project's checks: the user's
 * organization must have the project, and the user or one of their groups must be authorized on it.
 * An authorization whose roles were all removed from the project no longer applies.
 */
export function checkProjectAccess(cx: Cx, userId: string, projectId: string): ProjectAccess {
  const authorizedProject = cx.store.state(cx, project, projectId)
  const home = () => cx.store.receipt(cx, user, userId)?.owner ?? ""
  const hasIt = authorizedProject.hasProjectCheck ? hasProject(cx, projectId, home()) : undefined
  if (hasIt === false) return { answer: "no project", hasProject: hasIt, hasRoles: undefined }
  if (!authorizedProject.projectRoleCheck)
    return { answer: "yes", hasProject: hasIt, hasRoles: undefined }
  const isActive = (each: Authorization) =>
    each.roleKeys.length === 0 || currentKeysOf(cx, authorizedProject, each).length > 0
  const hasRoles =
    activeAuthorizations(cx, userId, projectId).some(isActive) ||
    listRolesFromGroups(cx, userId, projectId).some(
      ({ hasNoRoles, keys }) => hasNoRoles || keys.length > 0,
    )
  return { answer: hasRoles ? "yes" : "no roles", hasProject: hasIt, hasRoles }
}

/** The result alone; see `checkProjectAccess`. */
export const projectAccessOf = (
  cx: Cx,
  userId: string,
  projectId: string,
): ProjectAccess["answer"] => checkProjectAccess(cx, userId, projectId).answer

/** An authorization of a user on a project, with its current roles. */
export type UserAuthorization = {
  readonly id: string
  readonly orgId: string
  /** Empty if the organization that owns the project assigned it. */
  readonly grantId: string
  /** Whether the authorization and its project grant, if any, are active. */
  readonly isActive: boolean
  readonly keys: readonly string[]
}

/** All authorizations of a user on a project, active or not. */
export function listUserAuthorizations(
  cx: Cx,
  userId: string,
  projectId: string,
): readonly UserAuthorization[] {
  const authorizedProject = cx.store.state(cx, project, projectId)
  return cx.store.all(cx, authorizationsOnProject, { userId, projectId }).map(({ id }) => {
    const state = cx.store.state(cx, authorization, id)
    const isActive = isEffective(cx, state)
    const { orgId, grantId } = state
    return {
      id,
      orgId,
      grantId,
      isActive,
      keys: isActive ? currentKeysOf(cx, authorizedProject, state) : [],
    }
  })
}

const currentKeysOf = (
  cx: Cx,
  authorizedProject: Project,
  authorizationState: Authorization,
): readonly string[] =>
  currentRoles(
    {
      project: authorizedProject,
      projectGrant: authorizationState.grantId
        ? cx.store.state(cx, projectGrant, authorizationState.grantId)
        : undefined,
    },
    authorizationState,
  )

const authorizationsOnProject = statement<{ id: string }>(
  `SELECT id FROM authorizations
   WHERE instance = $instance AND user_id = $userId AND project = $projectId`,
)

const authorizationsOfUser = statement<{ id: string }>(
  "SELECT id FROM authorizations WHERE instance = $instance AND user_id = $userId ORDER BY id",
)

/** IDs of all authorizations of a user, active or not. */
export const authorizationIdsOf = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, authorizationsOfUser, { userId }).map(({ id }) => id)

/** The active authorizations; those over a project grant only if the grant is active, too. */
function activeAuthorizations(cx: Cx, userId: string, projectId: string): readonly Authorization[] {
  return cx.store
    .all(cx, authorizationsOnProject, { userId, projectId })
    .map(({ id }) => cx.store.state(cx, authorization, id))
    .filter((each) => isEffective(cx, each))
}

const isEffective = (cx: Cx, { status, grantId }: Authorization): boolean =>
  status === "active" && (grantId === "" || findActiveGrant(cx, grantId) !== undefined)

/**
 * The owner chain of an authorization, for access checks; undefined if it does not exist. An
 * authorization over a project grant belongs to the organization that assigned it and to the one
 * that owns the project.
 */
export function authorizationChain(cx: Cx, id: string) {
  const state = cx.store.state(cx, authorization, id)
  const { orgId, projectId, userId, grantId } = state
  const above = projectChain(cx, projectId)
  if (!above || !exists(state) || isAbsent(cx.store.state(cx, user, userId))) return undefined
  if (grantId === "") return above
  const chain = { ...above, org: orgId } as const
  if (findGrantIdInOrg(cx, projectId, orgId) !== grantId) return undefined
  const { orgId: givingId } = cx.store.state(cx, project, projectId)
  const shared = (link: { readonly level: string; readonly id: string }) =>
    link.level === "org" && link.id === givingId
  return { ...chain, grant: grantId, shared } as const
}
