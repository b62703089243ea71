import { callsOfEachAuthor } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import type { DecisionContext, Draft, Transaction } from "../../store/index.ts"
import { addInstanceMember, changeInstanceMember, removeInstanceMember } from "../instance/index.ts"
import { org } from "../org/index.ts"
import { isProjectThere, project } from "../project/index.ts"
import { isGrantThere, projectGrant } from "../project-grant/index.ts"
import { isAbsent, signInStatusOf, user } from "../user-model/index.ts"
import { customRoles, findRole, type StateReader } from "./custom-role.ts"
import { type MemberEvent, member, memberId, type Target } from "./model.ts"
import {
  callerPermissionsOn,
  findMissingPermissionOfRoles,
  type Reader,
  type RolesOn,
  rolesOn,
  roleTooHighError,
} from "./permission.ts"
import { promotionOf, requireConfirmed } from "./promotion.ts"
import { builtInRoles as builtIn } from "./roles.ts"

type MemberInput = {
  readonly target: Target
  readonly userId: string
  readonly roles: readonly string[]
  /**
   * IDs of credentials and addresses that other users set for the user, and that the caller
   * confirms; see `requireConfirmed`.
   */
  readonly confirmed?: readonly string[]
}

/**
 * Makes a user an administrator. Rejects roles with permissions that the caller does not have,
 * users that the caller can't see, and users with unconfirmed credentials that others set.
 */
export function addMember(tx: Transaction, input: MemberInput): void {
  validateRoles(tx, input)
  requirePermissions(tx, input)
  requireVisibleUser(
    tx,
    input.userId,
    input.target.level === "instance" ? "" : orgOf(tx, input.target),
  )
  requireConfirmed(tx, [promotionOf(tx, input)], input.confirmed ?? [])
  putMember(tx, input)
}

/**
 * Rejects users that the caller can't see: only users of the organization and those that the caller
 * can read elsewhere are allowed. So guessed IDs reveal nothing about other organizations.
 */
export function requireVisibleUser(tx: Transaction, userId: string, orgId: string): void {
  if (isAbsent(tx.state(user, userId))) throw userNotFoundError()
  const home = tx.owner(user, userId)
  if (home === orgId) return
  for (const each of callsOfEachAuthor(tx)) {
    const { caller } = each
    const isOwn = caller.kind === "user" && caller.userId === userId
    const isSeen = isOwn || callerPermissionsOn(each, { level: "org", id: home }).has("user.read")
    if (!isSeen && caller.kind !== "system") throw userNotFoundError()
  }
}

const userNotFoundError = () => new Fault("not_found", "user.missing", "user not found")

/**
 * Makes the creator of a project its owner. The permissions of the creator don't matter, since no
 * one assigns the role.
 */
export function addCreator(tx: Transaction, projectId: string, userId: string): void {
  putMember(tx, { target: { level: "project", id: projectId }, userId, roles: ["PROJECT_OWNER"] })
}

/** Makes the creator of an organization its owner; their permissions don't matter. */
export function addFounder(tx: Transaction, orgId: string, userId: string): void {
  putMember(tx, { target: { level: "org", id: orgId }, userId, roles: ["ORG_OWNER"] })
}

/**
 * Replaces the roles of an administrator. The caller must have the permissions of all roles that
 * are added or removed.
 */
export function updateMember(tx: Transaction, input: MemberInput): void {
  const { target, userId, roles } = input
  validateRoles(tx, input)
  const present = remainingRoles(tx, target, userId)
  requirePermissions(tx, { target, roles: [...present, ...roles] })
  if (present.length === 0) {
    throw new Fault(
      "not_found",
      "member.missing",
      "the user is not an administrator of this resource",
    )
  }
  requireConfirmed(tx, [promotionOf(tx, input)], input.confirmed ?? [])
  if (target.level === "instance") {
    changeInstanceMember.within(tx, tx.instance, { userId, roles, abilityOf: validityOf(tx) })
    return
  }
  if (present.length === roles.length && roles.every((role) => present.includes(role))) return
  const type = `${eventPrefixes[target.level]}.changed` as const
  const changed: Draft<MemberEvent> = { type, data: { userId, roles } }
  tx.append(member, memberId(target.level, target.id, userId), [changed])
}

/**
 * Removes all roles of a user on a resource; returns whether there were any. The caller must have
 * the permissions of these roles unless `over` is set, which means that the caller can remove the
 * user with everything they have.
 */
export function removeMember(
  tx: Transaction,
  { target, userId, over = false }: Omit<MemberInput, "roles"> & { readonly over?: boolean },
): boolean {
  const present = remainingRoles(tx, target, userId)
  if (present.length === 0) return false
  if (!over) requirePermissions(tx, { target, roles: present })
  if (target.level === "instance") {
    removeInstanceMember.within(tx, tx.instance, { userId, abilityOf: validityOf(tx) })
    return true
  }
  const type = `${eventPrefixes[target.level]}.removed` as const
  const removed: Draft<MemberEvent> = { type, data: { userId } }
  tx.append(member, memberId(target.level, target.id, userId), [removed])
  return true
}

/** A removed user no longer has roles, although no event removed them. */
const remainingRoles = (tx: Transaction, target: Target, userId: string): readonly string[] =>
  isAbsent(tx.state(user, userId)) ? [] : rolesOn(tx, target, userId)

/** Prefixes of the event types of each level. */
const eventPrefixes = {
  org: "org.member",
  project: "project.member",
  grant: "project.grant.member",
} as const

/** Whether a user has any role on exactly this resource. */
export const isMember = (cx: DecisionContext, target: Target, userId: string): boolean =>
  rolesOn(cx, target, userId).length > 0

function putMember(tx: Transaction, { target, userId, roles }: MemberInput): void {
  if (isAbsent(tx.state(user, userId))) throw userNotFoundError()
  if (target.level === "instance") {
    const orgId = tx.owner(user, userId)
    addInstanceMember.within(tx, tx.instance, { userId, orgId, roles })
    return
  }
  if (rolesOn(tx, target, userId).length > 0) {
    throw new Fault(
      "already_exists",
      "member.exists",
      "the user is already an administrator of this resource; update the roles instead",
    )
  }
  const { level, id } = target
  const owner = orgOf(tx, target)
  tx.append(member, memberId(level, id, userId), [addedEvent(tx, target, { userId, roles })], owner)
}

function addedEvent(
  tx: Transaction,
  { level, id }: TargetBelowInstance,
  assigned: { readonly userId: string; readonly roles: readonly string[] },
): Draft<MemberEvent> {
  if (level === "org") return { type: "org.member.added", data: { orgId: id, ...assigned } }
  if (level === "project")
    return { type: "project.member.added", data: { projectId: id, ...assigned } }
  const { projectId } = tx.state(projectGrant, id)
  return { type: "project.grant.member.added", data: { projectId, grantId: id, ...assigned } }
}

type TargetBelowInstance = Exclude<Target, { level: "instance" }>

/**
 * The organization that the resource is or belongs to; for a project grant, the one it was granted
 * to. Throws if the resource does not exist.
 */
export function orgOf(tx: Transaction, { level, id }: TargetBelowInstance): string {
  if (level === "org") {
    if (tx.state(org, id).status !== "absent") return id
    throw new Fault("not_found", "org.missing", "organization not found")
  }
  const granted = level === "grant" ? tx.state(projectGrant, id) : undefined
  if (granted && !isGrantThere(granted)) {
    throw new Fault("not_found", "grant.missing", "project grant not found")
  }
  const on = tx.state(project, granted?.projectId ?? id)
  if (isProjectThere(on)) return granted?.grantedOrgId ?? on.orgId
  throw new Fault("not_found", "project.missing", "project not found")
}

/** Rejects duplicate roles, unknown roles, and roles of another level. */
export function validateRoles(cx: Reader, { target, roles }: RolesOn): void {
  if (roles.length === 0) {
    throw new Fault("invalid_argument", "member.roles_missing", "roles is required")
  }
  if (new Set(roles).size < roles.length) {
    throw new Fault("invalid_argument", "member.role_twice", "roles must not contain duplicates")
  }
  const wrong = roles.find((role) => findRole(cx, role)?.level !== target.level)
  if (wrong === undefined) return
  const assignable = assignableRoles(cx, target.level).join(", ")
  throw new Fault(
    "invalid_argument",
    "member.role_unknown",
    `one of the roles can't be assigned on ${levelNames[target.level]}; roles must be one of: ` +
      `${assignable}`,
  )
}

const levelNames = {
  instance: "the instance",
  org: "an organization",
  project: "a project",
  grant: "a project grant",
} as const

/** The roles that can be assigned on a level: built-in roles and custom roles of the instance. */
export const assignableRoles = (cx: StateReader, level: Target["level"]): readonly string[] => {
  const { roles } = cx.state(customRoles, cx.instance)
  return [...Object.entries(builtIn), ...Object.entries(roles)].flatMap(([name, role]) =>
    role.level === level ? [name] : [],
  )
}

/**
 * No one can assign or remove permissions that they don't have. Owners of the instance can assign
 * every role, because no owner has some permissions (impersonation, linking sessions), and someone
 * must be able to assign them.
 */
export function requirePermissions(cx: Reader, assigned: RolesOn): void {
  const missingPermission = findMissingPermissionOfRoles(cx, assigned)
  if (missingPermission !== undefined) throw roleTooHighError(missingPermission)
}

const validityOf = (cx: DecisionContext) => (userId: string) => signInStatusOf(cx, userId)
