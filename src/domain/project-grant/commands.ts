import { Fault } from "../../kernel/fault.ts"
import type { Cx, Decision, Draft, Receipt, Transaction } from "../../store/index.ts"
import { isThere as isOrgThere, org } from "../org/index.ts"
import { isProjectThere, keysThere, type Project, project } from "../project/index.ts"
import {
  grantClaim,
  isThere,
  type ProjectGrant,
  type ProjectGrantEvent,
  pairOf,
  projectGrant,
} from "./model.ts"

export type GrantInput = {
  readonly projectId: string
  readonly grantedOrgId: string
  readonly roleKeys: readonly string[]
}

/**
 * Grants a project to another organisation. Refuses the one that owns it, a role that the project
 * lacks, and a second grant to the same organisation.
 */
export function addGrant(tx: Transaction, id: string, input: GrantInput): void {
  const { projectId, grantedOrgId, roleKeys } = input
  const on = projectOf(tx, projectId)
  if (on.orgId === grantedOrgId) throw ownsItError()
  if (!isOrgThere(tx.state(org, grantedOrgId))) {
    throw new Fault("not_found", "org.missing", "there is no such organisation")
  }
  checkRoles(on, roleKeys)
  const added: Draft<ProjectGrantEvent> = {
    type: "project.grant.added",
    data: { projectId, grantedOrgId, roleKeys, rolesVersion: on.rolesVersion },
    claims: [{ take: grantClaim, key: pairOf(projectId, grantedOrgId), taken }],
  }
  tx.append(projectGrant, id, [added], on.orgId)
}

/** Grants in a step of its own. */
export async function createGrant(cx: Cx, id: string, input: GrantInput): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => addGrant(tx, id, input))
  return step.receipt(projectGrant, id)
}

/** Replaces the roles; nothing happens where they are so already. */
export const changeGrant = projectGrant.command<readonly string[]>((state, roleKeys, cx) => {
  mustExist(state)
  const on = projectOf(cx, state.projectId)
  checkRoles(on, roleKeys)
  const present = keysGranted(on, state)
  // A role that the project took back and has again is another, also where the key is the same.
  const isSame =
    Object.keys(state.roles).length === roleKeys.length &&
    roleKeys.every((key) => present.includes(key))
  if (isSame) return []
  return [{ type: "project.grant.changed", data: { roleKeys, rolesVersion: on.rolesVersion } }]
})

/** Stops a grant from counting, with all that hangs from it; it is kept. */
export const deactivateGrant = projectGrant.command((state) => {
  mustExist(state)
  return state.status === "inactive" ? [] : [{ type: "project.grant.deactivated", data: {} }]
})

export const activateGrant = projectGrant.command((state) => {
  mustExist(state)
  return state.status === "active" ? [] : [{ type: "project.grant.reactivated", data: {} }]
})

/** Takes a grant away for good; nothing happens where it is gone. */
export const removeGrant = projectGrant.command((state) => {
  if (!isThere(state)) return []
  const claims = [{ release: grantClaim, key: pairOf(state.projectId, state.grantedOrgId) }]
  return [{ type: "project.grant.removed", data: {}, claims }]
})

/** The grant of a project to an organisation; undefined where there is none. */
export function grantBetween(
  tx: Pick<Decision, "holder">,
  projectId: string,
  orgId: string,
): string | undefined {
  const holder = tx.holder(grantClaim, pairOf(projectId, orgId))
  return holder?.stream === projectGrant.stream ? holder.id : undefined
}

/** The same, or a fault. */
export function mustBeGranted(tx: Transaction, projectId: string, orgId: string): string {
  projectOf(tx, projectId)
  const id = grantBetween(tx, projectId, orgId)
  if (id !== undefined) return id
  throw missingError()
}

/** The roles of a grant that its project still has. */
export const keysGranted = (on: Project, { roles, rolesVersion }: ProjectGrant) =>
  keysThere(on, { roleKeys: Object.keys(roles), rolesVersion })

function projectOf(tx: Pick<Decision, "state">, id: string): Project {
  const on = tx.state(project, id)
  if (isProjectThere(on)) return on
  throw new Fault("not_found", "project.missing", "there is no such project")
}

function mustExist(state: ProjectGrant): void {
  if (!isThere(state)) throw missingError()
}

export const missingError = (): Fault =>
  new Fault("not_found", "grant.missing", "there is no such project grant")

/** Each role is named once, and the project has it. */
function checkRoles({ roles }: Project, keys: readonly string[]): void {
  if (new Set(keys).size < keys.length) {
    throw new Fault("invalid_argument", "grant.role_twice", "name each role once")
  }
  if (keys.every((key) => Object.hasOwn(roles, key))) return
  throw new Fault(
    "failed_precondition",
    "grant.role_unknown",
    "the project does not have one of these roles; add it to the project first",
  )
}

const ownsItError = () =>
  new Fault(
    "failed_precondition",
    "grant.to_owner",
    "the organisation owns the project, so it needs no grant of it",
  )

const taken = {
  id: "grant.exists",
  message: "the project is granted to this organisation already; change the roles instead",
}
