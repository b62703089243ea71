import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Draft, Transaction } from "../../../store/index.ts"
import { group } from "../../group/index.ts"
import { projectGrant } from "../../project-grant/index.ts"
import { orgOf, requirePermissions, validateRoles } from "../commands.ts"
import type { Target } from "../model.ts"
import { callerPermissionsOn, type RolesOn } from "../permission.ts"
import { confirmUsersOf } from "./confirm.ts"
import {
  type GroupAdministratorEvent,
  groupAdministrator,
  groupAdministratorId,
  placeOf,
} from "./model.ts"

type GroupAdministratorInput = RolesOn & {
  readonly groupId: string
  /** Credentials of the group's users that others created and the caller confirms. */
  readonly confirmed: readonly string[]
}

/**
 * Assigns a group administrator roles on a resource. Rejects roles that the caller does not have
 * there, groups that the caller can't read, a resource of another organization than the group's,
 * and unconfirmed credentials of the group's users. Returns when, ms UTC.
 */
export async function createGroupAdministrator(
  cx: Cx,
  input: GroupAdministratorInput,
): Promise<number> {
  await confirmUsersOf(cx, input.groupId, input)
  const step = await cx.store.transact(cx, (tx) => {
    const { groupId, target, roles } = input
    validateRoles(tx, input)
    requirePermissions(tx, input)
    const owner = target.level === "instance" ? "" : orgOf(tx, target)
    const groupOrgId = orgOfGroup(tx, groupId, target.level === "instance" ? undefined : owner)
    const id = groupAdministratorId(target, groupId)
    if (tx.state(groupAdministrator, id).roles.length > 0) throw existsError()
    const project = projectOf(tx, target)
    const added: Draft<GroupAdministratorEvent> = {
      type: "group.administrator.added",
      data: { groupId, groupOrgId, ...placeOf(target), ...project, roles },
    }
    tx.append(groupAdministrator, id, [added], owner)
    return tx.now
  })
  return step.value
}

/** Replaces the roles; the caller must have both the added and the removed ones. */
export async function changeGroupAdministrator(
  cx: Cx,
  input: GroupAdministratorInput,
): Promise<number> {
  await confirmUsersOf(cx, input.groupId, input)
  const step = await cx.store.transact(cx, (tx) => {
    const { groupId, target, roles } = input
    validateRoles(tx, input)
    const id = groupAdministratorId(target, groupId)
    const present = presentRoles(tx, id, groupId)
    requirePermissions(tx, { target, roles: [...present, ...roles] })
    if (present.length === 0) throw missingError()
    if (present.length === roles.length && roles.every((role) => present.includes(role))) return
    tx.append(groupAdministrator, id, [{ type: "group.administrator.changed", data: { roles } }])
    return tx.now
  })
  const id = groupAdministratorId(input.target, input.groupId)
  return step.value ?? step.receipt(groupAdministrator, id).changed
}

/**
 * Removes all roles of a group on a resource; the caller must have them. Returns when, ms UTC, or
 * undefined if the group had none.
 */
export async function removeGroupAdministrator(
  cx: Cx,
  { target, groupId }: { readonly target: Target; readonly groupId: string },
): Promise<number | undefined> {
  const step = await cx.store.transact(cx, (tx) => {
    const id = groupAdministratorId(target, groupId)
    const present = presentRoles(tx, id, groupId)
    if (present.length === 0) return undefined
    requirePermissions(tx, { target, roles: present })
    tx.append(groupAdministrator, id, [{ type: "group.administrator.removed", data: {} }])
    return tx.now
  })
  return step.value
}

/** A deleted group has no roles, although no event has removed them. */
const presentRoles = (tx: Transaction, id: string, groupId: string): readonly string[] =>
  tx.state(group, groupId).status === "active" ? tx.state(groupAdministrator, id).roles : []

/** The organization of a group: `ownerId`, or one whose groups the caller can read. */
function orgOfGroup(tx: Transaction, groupId: string, ownerId: string | undefined): string {
  const { status, orgId } = tx.state(group, groupId)
  const canSee = () =>
    tx.caller.kind === "system" ||
    callerPermissionsOn(tx, { level: "org", id: orgId }).has("group.read")
  const isOpen = ownerId === undefined ? canSee() : orgId === ownerId
  if (status === "active" && isOpen) return orgId
  throw new Fault("not_found", "group.missing", "the organization does not have this group")
}

function projectOf(tx: Transaction, target: Target) {
  if (target.level === "project") return { projectId: target.id }
  if (target.level !== "grant") return {}
  return { projectId: tx.state(projectGrant, target.id).projectId }
}

const missingError = () =>
  new Fault("not_found", "member.missing", "the group has no roles on this resource")

const existsError = () =>
  new Fault(
    "already_exists",
    "member.exists",
    "the group already has roles on this resource; update them instead",
  )
