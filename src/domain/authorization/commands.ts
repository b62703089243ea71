import { Fault } from "../../kernel/fault.ts"
import type { Cx, Decision, Draft, Receipt, Transaction } from "../../store/index.ts"
import { mustSeeUser } from "../member/index.ts"
import { isProjectThere, keysThere, type Project, project } from "../project/index.ts"
import {
  grantBetween,
  isGrantThere,
  keysGranted,
  type ProjectGrant,
  projectGrant,
} from "../project-grant/index.ts"
import {
  type Authorization,
  type AuthorizationEvent,
  authorization,
  isThere,
  pairClaim,
  pairOf,
  type VersionedRoles,
} from "./model.ts"

export type AuthorizationInput = {
  readonly userId: string
  readonly projectId: string
  /** The organisation that gives it. */
  readonly orgId: string
  readonly roleKeys: readonly string[]
  /** The grant that it must be given over; without a word the one that there is, if any. */
  readonly grantId?: string | undefined
}

/**
 * Authorizes a user on a project. Refuses an organisation that neither owns the project nor was
 * granted it, another grant than that, a role that it doesn't have there, a second authorization
 * of the same user by it, and users that the caller may not see.
 */
export function addAuthorization(tx: Transaction, id: string, input: AuthorizationInput): void {
  const { userId, projectId, orgId, roleKeys } = input
  const { grantId, projectOrgId } = grantFor(tx, projectId, orgId)
  if (input.grantId && input.grantId !== grantId) throw notGrantedError()
  mustSeeUser(tx, userId, orgId)
  const given = givenOn(tx, { projectId, grantId }, roleKeys)
  const between = { userId, projectId, grantId, ...(grantId && { projectOrgId }) }
  const added: Draft<AuthorizationEvent> = {
    type: "user.grant.added",
    data: { ...between, ...given },
    claims: [{ take: pairClaim, key: pairOf(between), taken }],
  }
  tx.append(authorization, id, [added], orgId)
}

/** How an organization has a project: it owns it, or by a grant. Faults where it does not. */
export function grantFor(tx: Transaction, projectId: string, orgId: string) {
  const on = tx.state(project, projectId)
  if (!isProjectThere(on)) throw new Fault("not_found", "project.missing", "no such project")
  const grantId = on.orgId === orgId ? "" : grantTo(tx, projectId, orgId)
  return { grantId, projectOrgId: on.orgId }
}

/** The grant over which an organisation may authorize. */
function grantTo(tx: Transaction, projectId: string, orgId: string): string {
  const id = grantBetween(tx, projectId, orgId)
  if (id === undefined) throw notGrantedError()
  if (tx.state(projectGrant, id).status === "active") return id
  throw new Fault(
    "failed_precondition",
    "authorization.grant_inactive",
    "the project is granted to the organisation, but the grant is deactivated",
  )
}

/** Authorizes in a step of its own. */
export async function createAuthorization(
  cx: Cx,
  id: string,
  input: AuthorizationInput,
): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => addAuthorization(tx, id, input))
  return step.receipt(authorization, id)
}

/** Replaces the roles; nothing happens where they are so already. */
export const changeAuthorization = authorization.command<readonly string[]>(
  (state, roleKeys, cx) => {
    mustExist(state)
    const given = givenOn(cx, state, roleKeys)
    const isSame = hasSameRoles(basisOf(cx, state), state, roleKeys)
    return isSame ? [] : [{ type: "user.grant.changed", data: given }]
  },
)

/** Stops an authorization from counting; its roles are kept. */
export const deactivateAuthorization = authorization.command((state) => {
  mustExist(state)
  return state.status === "inactive" ? [] : [{ type: "user.grant.deactivated", data: {} }]
})

export const activateAuthorization = authorization.command((state) => {
  mustExist(state)
  return state.status === "active" ? [] : [{ type: "user.grant.reactivated", data: {} }]
})

/** Takes an authorization away for good; nothing happens where it is gone. */
export const removeAuthorization = authorization.command((state) => {
  if (!isThere(state)) return []
  const claims = [{ release: pairClaim, key: pairOf(state) }]
  return [{ type: "user.grant.removed", data: {}, claims }]
})

/** What the roles of an authorization are taken from. */
type Basis = { readonly on: Project; readonly over: ProjectGrant | undefined }

type On = Pick<Authorization, "projectId" | "grantId">

export const basisOf = (cx: Pick<Decision, "state">, { projectId, grantId }: On): Basis => ({
  on: cx.state(project, projectId),
  over: grantId ? cx.state(projectGrant, grantId) : undefined,
})

/** Whether an authorization has exactly these roles, and all of them still exist. */
export function hasSameRoles(
  basis: Basis,
  held: VersionedRoles,
  roleKeys: readonly string[],
): boolean {
  const keys = rolesIn(basis, held)
  return held.roleKeys.length === roleKeys.length && roleKeys.every((key) => keys.includes(key))
}

/** The roles of an authorization that its project still has, and the grant where there is one. */
export function rolesIn({ on, over }: Basis, held: VersionedRoles): readonly string[] {
  const keys = keysThere(on, held)
  if (!over) return keys
  const granted = keysGranted(on, over)
  // A role that was taken from the grant and given to it again is another.
  const isOf = (key: string) => (over.roles[key] ?? 0) <= (held.grantVersion ?? 0)
  return keys.filter((key) => granted.includes(key) && isOf(key))
}

/** Roles as they are given now. */
export function givenOn(cx: Pick<Decision, "state">, where: On, roleKeys: readonly string[]) {
  const { on, over } = basisOf(cx, where)
  if (over && !isGrantThere(over)) throw missingError()
  checkRoles(over ? keysGranted(on, over) : Object.keys(on.roles), roleKeys)
  const { rolesVersion } = on
  return { roleKeys, rolesVersion, ...(over && { grantVersion: over.changedIn }) }
}

function mustExist(state: Authorization): void {
  if (!isThere(state)) throw missingError()
}

export const missingError = () =>
  new Fault("not_found", "authorization.missing", "there is no such authorization")

/** Each role is named once, and is one that the organisation has there. */
function checkRoles(there: readonly string[], keys: readonly string[]): void {
  if (new Set(keys).size < keys.length) {
    throw new Fault("invalid_argument", "authorization.role_twice", "name each role once")
  }
  if (keys.every((key) => there.includes(key))) return
  throw new Fault(
    "failed_precondition",
    "authorization.role_unknown",
    "the project, or its grant, does not have one of these roles; add it there first",
  )
}

const notGrantedError = () =>
  new Fault(
    "not_found",
    "authorization.org_without_project",
    "the organisation that gives the authorization neither owns the project nor was granted it",
  )

const taken = {
  id: "authorization.exists",
  message: "the user is authorized on this project already; change their roles instead",
}
