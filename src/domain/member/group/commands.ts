import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Draft, Transaction } from "../../../store/index.ts"
import { group } from "../../group/index.ts"
import { projectGrant } from "../../project-grant/index.ts"
import { orgOf, requirePermissions, validateRoles } from "../commands.ts"
import type { Target } from "../model.ts"
import { callerPermissionsOn, type RolesOn } from "../permission.ts"
import { requireConfirmedUsersOf } from "./confirm.ts"
import {
  type GroupAdministratorEvent,
  groupAdministrator,
  groupAdministratorId,
  targetKeyOf,
} from "./model.ts"

type GroupAdministratorInput = RolesOn & {
  readonly groupId: string
  /** Credentials of the group's users that others created and that the caller confirms. */
  readonly confirmed: readonly string[]
}

/**
 * Makes a group an administrator. Rejects roles with permissions that the caller does not have,
 * groups that the caller can't read, resources of organizations other than the group's, and groups
 * whose users have unconfirmed credentials. Returns the time of the change, ms UTC.
 */
export async function createGroupAdministrator(
  cx: Cx,
  input: GroupAdministratorInput,
): Promise<number> {
  await requireConfirmedUsersOf(cx, input.groupId, input)
  const step = await cx.store.transact(cx, (tx) => {
    const { groupId, target, roles } = input
    validateRoles(tx, input)
    requirePermissions(tx, input)
    const owner = target.level === "instance" ? "" : orgOf(tx, target)
    const groupOrgId = requireOrgOfGroup(
      tx,
      groupId,
      target.level === "instance" ? undefined : owner,
    )
    const id = groupAdministratorId(target, groupId)
    if (tx.state(groupAdministrator, id).roles.length > 0) throw rolesExistError()
    const project = projectOf(tx, target)
    const added: Draft<GroupAdministratorEvent> = {
      type: "group.administrator.added",
      data: { groupId, groupOrgId, ...targetKeyOf(target), ...project, roles },
    }
    tx.append(groupAdministrator, id, [added], owner)
    return tx.now
  })
  return step.value
}

/**
 * Replaces the roles of a group. The caller must have the permissions of all roles that are added
 * or removed.
 */
export async function updateGroupAdministrator(
  cx: Cx,
  input: GroupAdministratorInput,
): Promise<number> {
  await requireConfirmedUsersOf(cx, input.groupId, input)
  const step = await cx.store.transact(cx, (tx) => {
    const { groupId, target, roles } = input
    validateRoles(tx, input)
    const id = groupAdministratorId(target, groupId)
    const present = remainingRoles(tx, id, groupId)
    requirePermissions(tx, { target, roles: [...present, ...roles] })
    if (present.length === 0) throw noRolesError()
    if (present.length === roles.length && roles.every((role) => present.includes(role))) return
    tx.append(groupAdministrator, id, [{ type: "group.administrator.changed", data: { roles } }])
    return tx.now
  })
  const id = groupAdministratorId(input.target, input.groupId)
  return step.value ?? step.receipt(groupAdministrator, id).changed
}

/**
 * Removes all roles of a group on a resource; the caller must have their permissions. Returns the
 * time of the change, ms UTC; undefined if the group had no roles.
 */
export async function removeGroupAdministrator(
  cx: Cx,
  { target, groupId }: { readonly target: Target; readonly groupId: string },
): Promise<number | undefined> {
  const step = await cx.store.transact(cx, (tx) => {
    const id = groupAdministratorId(target, groupId)
    const present = remainingRoles(tx, id, groupId)
    if (present.length === 0) return undefined
    requirePermissions(tx, { target, roles: present })
    tx.append(groupAdministrator, id, [{ type: "group.administrator.removed", data: {} }])
    return tx.now
  })
  return step.value
}

/** A removed group no longer has roles, although no event removed them. */
const remainingRoles = (tx: Transaction, id: string, groupId: string): readonly string[] =>
  tx.state(group, groupId).status === "active" ? tx.state(groupAdministrator, id).roles : []

/**
 * The organization of a group. It must be `ownerId`; if that is absent, the caller must be able to
 * read the group.
 */
function requireOrgOfGroup(tx: Transaction, groupId: string, ownerId: string | undefined): string {
  const { status, orgId } = tx.state(group, groupId)
  const canSee = () =>
    tx.caller.kind === "system" ||
    callerPermissionsOn(tx, { level: "org", id: orgId }).has("group.read")
  const isVisible = ownerId === undefined ? canSee() : orgId === ownerId
  if (status === "active" && isVisible) return orgId
  throw new Fault("not_found", "group.missing", "group not found in the organization")
}

function projectOf(tx: Transaction, target: Target) {
  if (target.level === "project") return { projectId: target.id }
  if (target.level !== "grant") return {}
  return { projectId: tx.state(projectGrant, target.id).projectId }
}

const noRolesError = () =>
  new Fault("not_found", "member.missing", "the group is not an administrator of this resource")

const rolesExistError = () =>
  new Fault(
    "already_exists",
    "member.exists",
    "the group is already an administrator of this resource; update the roles instead",
  )
