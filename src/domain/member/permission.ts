import { callsOfEachAuthor } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx, DecisionContext } from "../../store/index.ts"
import { usersOfGroup } from "../group/index.ts"
import { instance, memberOf, ownerRole } from "../instance/index.ts"
import { project } from "../project/index.ts"
import { projectGrant } from "../project-grant/index.ts"
import { permissionsOfRole, rolePermissions, type StateReader, stateReader } from "./custom-role.ts"
import { groupAdministrator } from "./group/model.ts"
import { rolesFromGroupsOn } from "./group/roles.ts"
import { groupsOnTarget } from "./group/view.ts"
import { member, memberId, type Target } from "./model.ts"
import { listAdministratorsOn, type Membership } from "./view.ts"

/** All permissions of a user on a resource, from their own roles and those of their groups. */
export function permissionsOn(cx: Reader, target: Target, userId: string): ReadonlySet<string> {
  const heldPermissions = effectiveRolesOn(cx, withOwners(cx, target), userId)
  return new Set(heldPermissions.flatMap((role) => [...permissionsOfRole(cx, role)]))
}

/** Whether the caller can read a user. Users can always read themselves. */
export function canReadUser(cx: Cx, userId: string, homeId: string): boolean {
  const { caller } = cx
  if (caller.kind !== "user") return false
  if (caller.userId === userId) return true
  const read = { ...stateReader(cx), caller }
  return permissionsOn(read, { level: "org", id: homeId }, caller.userId).has("user.read")
}

/** The roles of a user on exactly these resources: their own and those of their groups. */
export const effectiveRolesOn = (
  cx: Reader,
  targets: readonly Target[],
  userId: string,
): readonly string[] => [
  ...targets.flatMap((target) => rolesOn(cx, target, userId)),
  ...rolesFromGroupsOn(cx, targets, userId),
]

/**
 * Users who have a permission from a role on exactly this resource: first those with roles of their
 * own, earliest first, then users of groups, up to a maximum for each group.
 */
export function listPermissionHolders(
  cx: Cx,
  target: Pick<Membership, "level" | "id">,
  permission: string,
): readonly string[] {
  const permits = (roles: readonly string[]) =>
    roles.some((role) => rolePermissions(role, cx).has(permission))
  const own = listAdministratorsOn(cx, target).filter(({ roles }) => permits(roles))
  const { level } = target
  const targetKey = { level, targetId: level === "instance" ? "" : target.id }
  const groups = groupsOnTarget(stateReader(cx), targetKey).filter(({ id }) =>
    permits(cx.store.state(cx, groupAdministrator, id).roles),
  )
  const users = groups.flatMap(({ groupId }) =>
    usersOfGroup(cx, groupId).slice(0, usersPerGroupMax),
  )
  return [...new Set([...own.map(({ userId }) => userId), ...users])]
}

const usersPerGroupMax = 1000

export const roleTooHighError = (missing: string): Fault =>
  new Fault(
    "permission_denied",
    "member.role_too_high",
    `permission denied: the role has permissions that you don't have, such as ${missing}`,
  )

/** What decisions and queries have in common. */
export type Reader = StateReader & Pick<DecisionContext, "caller" | "authors">

export type RolesOn = { readonly target: Target; readonly roles: readonly string[] }

/**
 * A permission of the roles that the caller does not have on their resource; undefined if there is
 * none.
 */
export const findMissingPermissionOfRoles = (
  cx: Reader,
  { target, roles }: RolesOn,
): string | undefined =>
  findMissingPermission(
    cx,
    target,
    roles.flatMap((role) => [...permissionsOfRole(cx, role)]),
  )

/**
 * The first of these permissions that the caller, or an author of the request, does not have on a
 * resource; undefined if there is none.
 */
export function findMissingPermission(
  cx: Reader,
  target: Target,
  permissions: readonly string[],
): string | undefined {
  for (const each of callsOfEachAuthor(cx)) {
    const missing = findMissingPermissionOfCaller(each, target, permissions)
    if (missing !== undefined) return missing
  }
  return undefined
}

function findMissingPermissionOfCaller(
  cx: Reader,
  target: Target,
  permissions: readonly string[],
): string | undefined {
  if (cx.caller.kind === "system") return undefined
  const onInstance = effectiveRolesOn(cx, [{ level: "instance" }], callerOf(cx))
  if (onInstance.includes(ownerRole)) return undefined
  const heldPermissions = callerPermissionsOn(cx, target)
  return permissions.find((permission) => !includesPermission(heldPermissions, permission))
}

/** The permissions of the caller on a resource. */
export const callerPermissionsOn = (cx: Reader, target: Target): ReadonlySet<string> =>
  permissionsOn(cx, target, callerOf(cx))

const callerOf = ({ caller }: Reader): string => (caller.kind === "user" ? caller.userId : "")

/** Narrow permissions that are implied by a wider one, although roles don't list both. */
const impliedBy: Readonly<Record<string, string>> = {
  "project.read:self": "project.read",
  "project.grant.user.grant.read": "user.grant.read",
  "user.self.delete": "user.delete",
}

const includesPermission = (heldPermissions: ReadonlySet<string>, permission: string): boolean =>
  heldPermissions.has(permission) || heldPermissions.has(impliedBy[permission] ?? "")

/** A resource and its owners, whose roles also apply to it. */
function withOwners(cx: Reader, target: Target): readonly Target[] {
  const top: Target = { level: "instance" }
  if (target.level === "instance") return [top]
  if (target.level === "org") return [top, target]
  if (target.level === "project") {
    return [top, { level: "org", id: cx.state(project, target.id).orgId }, target]
  }
  const { projectId, grantedOrgId } = cx.state(projectGrant, target.id)
  const ownerTargets = withOwners(cx, { level: "project", id: projectId })
  return [...ownerTargets, { level: "org", id: grantedOrgId }, target]
}

/** A user's own roles on exactly this resource. */
export function rolesOn(cx: Reader, target: Target, userId: string): readonly string[] {
  if (target.level === "instance") {
    return memberOf(cx.state(instance, cx.instance), userId)?.roles ?? []
  }
  return cx.state(member, memberId(target.level, target.id, userId)).roles
}
