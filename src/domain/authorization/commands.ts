import { Fault } from "../../kernel/fault.ts"
import type { Cx, DecisionContext, Draft, Receipt, Transaction } from "../../store/index.ts"
import { requireVisibleUser } from "../member/index.ts"
import { currentKeys, isProjectThere, type Project, project } from "../project/index.ts"
import {
  currentGrantedKeys,
  findGrantId,
  isGrantThere,
  type ProjectGrant,
  projectGrant,
} from "../project-grant/index.ts"
import {
  type Authorization,
  type AuthorizationEvent,
  authorization,
  authorizationClaim,
  authorizationKeyOf,
  exists,
  type VersionedRoles,
} from "./model.ts"

export type AuthorizationInput = {
  readonly userId: string
  readonly projectId: string
  /** The organization that grants the authorization. */
  readonly orgId: string
  readonly roleKeys: readonly string[]
  /**
   * The project grant that the authorization must use; if absent, the grant to the organization, if
   * any.
   */
  readonly grantId?: string | undefined
}

/**
 * Authorizes a user on a project. Rejects an organization that neither owns the project nor has a
 * grant of it, a project grant that is not the organization's, roles that are not available to it,
 * a second authorization of the same user by it, and users that the caller can't see.
 */
export function addAuthorization(tx: Transaction, id: string, input: AuthorizationInput): void {
  const { userId, projectId, orgId, roleKeys } = input
  const { grantId, projectOrgId } = requireAvailableProject(tx, projectId, orgId)
  if (input.grantId && input.grantId !== grantId) throw notGrantedError()
  requireVisibleUser(tx, userId, orgId)
  const roles = assignableRoles(tx, { projectId, grantId }, roleKeys)
  const subject = { userId, projectId, grantId, ...(grantId && { projectOrgId }) }
  const added: Draft<AuthorizationEvent> = {
    type: "user.grant.added",
    data: { ...subject, ...roles },
    claims: [
      { take: authorizationClaim, key: authorizationKeyOf(subject), taken: authorizationTaken },
    ],
  }
  tx.append(authorization, id, [added], orgId)
}

/**
 * The project grant by which an organization has a project, empty if it owns the project. Throws if
 * the project is not available to it.
 */
export function requireAvailableProject(tx: Transaction, projectId: string, orgId: string) {
  const authorizedProject = tx.state(project, projectId)
  if (!isProjectThere(authorizedProject))
    throw new Fault("not_found", "project.missing", "project not found")
  const grantId = authorizedProject.orgId === orgId ? "" : requireActiveGrant(tx, projectId, orgId)
  return { grantId, projectOrgId: authorizedProject.orgId }
}

/** The project grant that an organization uses to authorize users. */
function requireActiveGrant(tx: Transaction, projectId: string, orgId: string): string {
  const id = findGrantId(tx, projectId, orgId)
  if (id === undefined) throw notGrantedError()
  if (tx.state(projectGrant, id).status === "active") return id
  throw new Fault(
    "failed_precondition",
    "authorization.grant_inactive",
    "the project grant of this organization is deactivated",
  )
}

/** Authorizes a user in a transaction of its own. */
export async function createAuthorization(
  cx: Cx,
  id: string,
  input: AuthorizationInput,
): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => addAuthorization(tx, id, input))
  return step.receipt(authorization, id)
}

/** Replaces the roles; no-op if they are unchanged. */
export const updateAuthorization = authorization.command<readonly string[]>(
  (state, roleKeys, cx) => {
    requireExists(state)
    const roles = assignableRoles(cx, state, roleKeys)
    const isSame = hasSameRoles(roleSourcesOf(cx, state), state, roleKeys)
    return isSame ? [] : [{ type: "user.grant.changed", data: roles }]
  },
)

/** Deactivates an authorization; its roles are kept. */
export const deactivateAuthorization = authorization.command((state) => {
  requireExists(state)
  return state.status === "inactive" ? [] : [{ type: "user.grant.deactivated", data: {} }]
})

export const activateAuthorization = authorization.command((state) => {
  requireExists(state)
  return state.status === "active" ? [] : [{ type: "user.grant.reactivated", data: {} }]
})

/** Removes an authorization; no-op if it is already removed. */
export const removeAuthorization = authorization.command((state) => {
  if (!exists(state)) return []
  const claims = [{ release: authorizationClaim, key: authorizationKeyOf(state) }]
  return [{ type: "user.grant.removed", data: {}, claims }]
})

/** The sources of an authorization's roles. */
type RoleSources = { readonly project: Project; readonly projectGrant: ProjectGrant | undefined }

type AuthorizedProject = Pick<Authorization, "projectId" | "grantId">

export const roleSourcesOf = (
  cx: Pick<DecisionContext, "state">,
  { projectId, grantId }: AuthorizedProject,
): RoleSources => ({
  project: cx.state(project, projectId),
  projectGrant: grantId ? cx.state(projectGrant, grantId) : undefined,
})

/** Whether an authorization has exactly these roles and all of them still exist. */
export function hasSameRoles(
  sources: RoleSources,
  authorizationState: VersionedRoles,
  roleKeys: readonly string[],
): boolean {
  const keys = currentRoles(sources, authorizationState)
  return (
    authorizationState.roleKeys.length === roleKeys.length &&
    roleKeys.every((key) => keys.includes(key))
  )
}

/**
 * The roles of an authorization that still exist in its project and, if it uses a project grant, in
 * the grant.
 */
export function currentRoles(
  { project: authorizedProject, projectGrant: sharedGrant }: RoleSources,
  authorizationState: VersionedRoles,
): readonly string[] {
  const keys = currentKeys(authorizedProject, authorizationState)
  if (!sharedGrant) return keys
  const granted = currentGrantedKeys(authorizedProject, sharedGrant)
  // A role that was removed from the grant and added again is a different role.
  const isOf = (key: string) =>
    (sharedGrant.roles[key] ?? 0) <= (authorizationState.grantVersion ?? 0)
  return keys.filter((key) => granted.includes(key) && isOf(key))
}

/** The roles as an event stores them, with the current versions. */
export function assignableRoles(
  cx: Pick<DecisionContext, "state">,
  target: AuthorizedProject,
  roleKeys: readonly string[],
) {
  const { project: authorizedProject, projectGrant: sharedGrant } = roleSourcesOf(cx, target)
  if (sharedGrant && !isGrantThere(sharedGrant)) throw authorizationNotFoundError()
  validateRoles(
    sharedGrant
      ? currentGrantedKeys(authorizedProject, sharedGrant)
      : Object.keys(authorizedProject.roles),
    roleKeys,
  )
  const { rolesVersion } = authorizedProject
  return { roleKeys, rolesVersion, ...(sharedGrant && { grantVersion: sharedGrant.changedIn }) }
}

function requireExists(state: Authorization): void {
  if (!exists(state)) throw authorizationNotFoundError()
}

export const authorizationNotFoundError = () =>
  new Fault("not_found", "authorization.missing", "authorization not found")

/** Rejects duplicate roles and roles that are not available to the organization. */
function validateRoles(available: readonly string[], keys: readonly string[]): void {
  if (new Set(keys).size < keys.length) {
    throw new Fault(
      "invalid_argument",
      "authorization.role_twice",
      "roles must not contain duplicates",
    )
  }
  if (keys.every((key) => available.includes(key))) return
  throw new Fault(
    "failed_precondition",
    "authorization.role_unknown",
    "the project or its grant does not contain one of these roles; add the role there first",
  )
}

const notGrantedError = () =>
  new Fault(
    "not_found",
    "authorization.org_without_project",
    "the organization neither owns the project nor has a grant of it",
  )

const authorizationTaken = {
  id: "authorization.exists",
  message: "the user is already authorized on this project; update the roles instead",
}
