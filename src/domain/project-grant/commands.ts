import { Fault } from "../../kernel/fault.ts"
import type { Cx, DecisionContext, Draft, Receipt, Transaction } from "../../store/index.ts"
import { isExistingOrg as isOrgThere, org } from "../org/index.ts"
import { currentKeys, isProjectThere, type Project, project } from "../project/index.ts"
import {
  exists,
  grantClaim,
  grantKeyOf,
  type ProjectGrant,
  type ProjectGrantEvent,
  projectGrant,
} from "./model.ts"

export type ProjectGrantInput = {
  readonly projectId: string
  readonly grantedOrgId: string
  readonly roleKeys: readonly string[]
}

/**
 * Grants a project to another organization. Rejects the organization that owns it, roles that the
 * project does not have, and a second grant to the same organization.
 */
export function addGrant(tx: Transaction, id: string, input: ProjectGrantInput): void {
  const { projectId, grantedOrgId, roleKeys } = input
  const on = requireProject(tx, projectId)
  if (on.orgId === grantedOrgId) throw ownerNeedsNoGrantError()
  if (!isOrgThere(tx.state(org, grantedOrgId))) {
    throw new Fault("not_found", "org.missing", "organization not found")
  }
  validateRoles(on, roleKeys)
  const added: Draft<ProjectGrantEvent> = {
    type: "project.grant.added",
    data: { projectId, grantedOrgId, roleKeys, rolesVersion: on.rolesVersion },
    claims: [{ take: grantClaim, key: grantKeyOf(projectId, grantedOrgId), taken: grantTaken }],
  }
  tx.append(projectGrant, id, [added], on.orgId)
}

/** Grants a project in a transaction of its own. */
export async function createGrant(cx: Cx, id: string, input: ProjectGrantInput): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => addGrant(tx, id, input))
  return step.receipt(projectGrant, id)
}

/** Replaces the roles; no-op if they are unchanged. */
export const updateGrant = projectGrant.command<readonly string[]>((state, roleKeys, cx) => {
  requireExists(state)
  const on = requireProject(cx, state.projectId)
  validateRoles(on, roleKeys)
  const present = currentGrantedKeys(on, state)
  // A role that was removed from the project and added again is a different role with the same key.
  const isSame =
    Object.keys(state.roles).length === roleKeys.length &&
    roleKeys.every((key) => present.includes(key))
  if (isSame) return []
  return [{ type: "project.grant.changed", data: { roleKeys, rolesVersion: on.rolesVersion } }]
})

/** Deactivates a project grant and everything that depends on it; the grant is kept. */
export const deactivateGrant = projectGrant.command((state) => {
  requireExists(state)
  return state.status === "inactive" ? [] : [{ type: "project.grant.deactivated", data: {} }]
})

export const activateGrant = projectGrant.command((state) => {
  requireExists(state)
  return state.status === "active" ? [] : [{ type: "project.grant.reactivated", data: {} }]
})

/** Removes a project grant; no-op if it is already removed. */
export const removeGrant = projectGrant.command((state) => {
  if (!exists(state)) return []
  const claims = [{ release: grantClaim, key: grantKeyOf(state.projectId, state.grantedOrgId) }]
  return [{ type: "project.grant.removed", data: {}, claims }]
})

/** The ID of the grant of a project to an organization; undefined if there is none. */
export function findGrantId(
  tx: Pick<DecisionContext, "holder">,
  projectId: string,
  orgId: string,
): string | undefined {
  const holder = tx.holder(grantClaim, grantKeyOf(projectId, orgId))
  return holder?.stream === projectGrant.stream ? holder.id : undefined
}

/** The ID of the grant of a project to an organization. Throws if there is none. */
export function requireGrantId(tx: Transaction, projectId: string, orgId: string): string {
  requireProject(tx, projectId)
  const id = findGrantId(tx, projectId, orgId)
  if (id !== undefined) return id
  throw grantNotFoundError()
}

/** The roles of a project grant that the project still has. */
export const currentGrantedKeys = (on: Project, { roles, rolesVersion }: ProjectGrant) =>
  currentKeys(on, { roleKeys: Object.keys(roles), rolesVersion })

function requireProject(tx: Pick<DecisionContext, "state">, id: string): Project {
  const on = tx.state(project, id)
  if (isProjectThere(on)) return on
  throw new Fault("not_found", "project.missing", "project not found")
}

function requireExists(state: ProjectGrant): void {
  if (!exists(state)) throw grantNotFoundError()
}

export const grantNotFoundError = (): Fault =>
  new Fault("not_found", "grant.missing", "project grant not found")

/** Rejects duplicate roles and roles that the project does not have. */
function validateRoles({ roles }: Project, keys: readonly string[]): void {
  if (new Set(keys).size < keys.length) {
    throw new Fault("invalid_argument", "grant.role_twice", "roles must not contain duplicates")
  }
  if (keys.every((key) => Object.hasOwn(roles, key))) return
  throw new Fault(
    "failed_precondition",
    "grant.role_unknown",
    "the project does not have one of these roles; add the role to the project first",
  )
}

const ownerNeedsNoGrantError = () =>
  new Fault(
    "failed_precondition",
    "grant.to_owner",
    "the organization owns the project, so it needs no project grant",
  )

const grantTaken = {
  id: "grant.exists",
  message: "the project is already granted to this organization; update the roles instead",
}
