import { Fault } from "../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { permissionsOn } from "../member/index.ts"
import { isProjectThere, type Project, project } from "../project/index.ts"
import { hasLeft, user } from "../user/index.ts"
import {
  type Authorization,
  type AuthorizationEvent,
  authorization,
  isThere,
  pairClaim,
  pairOf,
} from "./model.ts"

export type AuthorizationInput = {
  readonly userId: string
  readonly projectId: string
  /** The organisation that gives it. */
  readonly orgId: string
  readonly roleKeys: readonly string[]
}

/**
 * Authorizes a user on a project. Refuses a role that the project lacks, a second authorization of
 * the same user, and users that the caller may not see.
 */
export function addAuthorization(tx: Transaction, id: string, input: AuthorizationInput): void {
  const { userId, projectId, orgId, roleKeys } = input
  const on = tx.state(project, projectId)
  if (!isProjectThere(on)) throw new Fault("not_found", "project.missing", "no such project")
  // Nothing grants projects to other organisations yet.
  if (on.orgId !== orgId) throw notGranted()
  mustSeeUser(tx, userId, orgId)
  checkRoles(on, roleKeys)
  const between = { userId, projectId, grantId: "" }
  const added: Draft<AuthorizationEvent> = {
    type: "user.grant.added",
    data: { ...between, roleKeys, rolesVersion: on.rolesVersion },
    claims: [{ take: pairClaim, key: pairOf(between), taken }],
  }
  tx.append(authorization, id, [added], orgId)
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
    const on = cx.state(project, state.projectId)
    checkRoles(on, roleKeys)
    const held = rolesIn(on, state)
    const isSame =
      state.roleKeys.length === roleKeys.length && roleKeys.every((key) => held.includes(key))
    if (isSame) return []
    return [{ type: "user.grant.changed", data: { roleKeys, rolesVersion: on.rolesVersion } }]
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

/** The roles of an authorization that its project still has. */
export const rolesIn = (
  { roles }: Project,
  { roleKeys, rolesVersion }: Authorization,
): readonly string[] =>
  roleKeys.filter((key) => Object.hasOwn(roles, key) && (roles[key] ?? 0) <= rolesVersion)

function mustExist(state: Authorization): void {
  if (isThere(state)) return
  throw new Fault("not_found", "authorization.missing", "there is no such authorization")
}

/** Each role is named once, and the project has it. */
function checkRoles({ roles }: Project, keys: readonly string[]): void {
  if (new Set(keys).size < keys.length) {
    throw new Fault("invalid_argument", "authorization.role_twice", "name each role once")
  }
  if (keys.every((key) => Object.hasOwn(roles, key))) return
  throw new Fault(
    "failed_precondition",
    "authorization.role_unknown",
    "the project does not have one of these roles; add it to the project first",
  )
}

/**
 * Users of the organisation itself, and others that the caller may look at: who guesses ids learns
 * nothing of other organisations.
 */
function mustSeeUser(tx: Transaction, userId: string, orgId: string): void {
  const isHere = !hasLeft(tx.state(user, userId))
  if (isHere && (tx.owner(user, userId) === orgId || mayRead(tx, userId))) return
  throw new Fault("not_found", "user.missing", "there is no such user")
}

function mayRead(tx: Transaction, userId: string): boolean {
  const { caller } = tx
  if (caller.kind !== "user") return caller.kind === "system"
  const home = { level: "org", id: tx.owner(user, userId) } as const
  return permissionsOn(tx, home, caller.userId).has("user.read")
}

const notGranted = () =>
  new Fault(
    "not_found",
    "authorization.org_without_project",
    "the organisation that gives the authorization neither owns the project nor was granted it",
  )

const taken = {
  id: "authorization.exists",
  message: "the user is authorized on this project already; change their roles instead",
}
