import { Fault, fieldError } from "../../kernel/fault.ts"
import { parseDisplayName } from "../../kernel/text/identifier.ts"
import type { Cx } from "../../store/index.ts"
import { customRoles, findCustomRole, stateReader } from "./custom-role.ts"
import { requireConfirmedUsersWith } from "./group/confirm.ts"
import type { Target } from "./model.ts"
import { findMissingPermission, type Reader, roleTooHighError } from "./permission.ts"
import { promotionsOf, requireConfirmed } from "./promotion.ts"
import { builtInRoles as builtIn, permissionsOf } from "./roles.ts"
import { isRoleAssigned } from "./view.ts"

/** The limit for one instance: its roles are one state, which is read whenever a role is used. */
const rolesMax = 100

type RoleInput = {
  readonly key: string
  readonly displayName: string
  readonly level: Target["level"]
  readonly permissions: readonly string[]
}

/**
 * Creates a role, a named set of permissions. Rejects permissions that the caller does not have,
 * permissions that no built-in role of the level has, and a key that is still assigned to users
 * from an earlier role.
 */
export async function createRole(cx: Cx, input: RoleInput): Promise<number> {
  const key = parseKey(input.key)
  const displayName = parseDisplayName("display_name", input.displayName || key)
  const permissions = parsePermissions(input.level, input.permissions)
  const step = await cx.store.transact(cx, (tx) => {
    const state = tx.state(customRoles, tx.instance)
    if (findCustomRole(state, key)) {
      throw new Fault("already_exists", "role.exists", "a role with this key already exists")
    }
    if (isRoleAssigned(cx, key)) throw roleInUseError()
    if (Object.keys(state.roles).length >= rolesMax) throw tooManyRolesError()
    requireAllPermissions(tx, permissions)
    const data = { key, displayName, level: input.level, permissions }
    tx.append(customRoles, tx.instance, [{ type: "role.added", data }])
    return tx.now
  })
  return step.value
}

type UpdateRoleInput = {
  readonly key: string
  readonly displayName?: string | undefined
  /** If empty, the permissions are unchanged. */
  readonly permissions: readonly string[]
  /**
   * IDs of credentials and addresses that other users set for the users with this role, and that
   * the caller confirms; see `requireConfirmed`.
   */
  readonly confirmed?: readonly string[]
}

/**
 * Updates a role for all users who have it, from their next request. Rejects adding or removing
 * permissions that the caller does not have, and adding permissions for users with unconfirmed
 * credentials that others set. Returns the time of the last change, ms UTC.
 */
export async function updateRole(cx: Cx, input: UpdateRoleInput): Promise<number> {
  const previous = findCustomRole(cx.store.state(cx, customRoles, cx.instance), input.key)
  const permissions = input.permissions.filter((each) => !previous?.permissions.includes(each))
  requireAllPermissions({ ...stateReader(cx), caller: cx.caller, authors: cx.authors }, permissions)
  await requireConfirmedUsersWith(cx, input.key, { permissions, confirmed: input.confirmed ?? [] })
  const step = await cx.store.transact(cx, (tx) => {
    const existing = findCustomRole(tx.state(customRoles, tx.instance), input.key)
    if (!existing) throw roleNotFoundError(input.key)
    const displayName =
      input.displayName === undefined
        ? existing.displayName
        : parseDisplayName("display_name", input.displayName)
    const permissions =
      input.permissions.length === 0
        ? existing.permissions
        : parsePermissions(existing.level, input.permissions)
    const added = permissions.filter((each) => !existing.permissions.includes(each))
    const isSame = added.length === 0 && permissions.length === existing.permissions.length
    requireAllPermissions(tx, [...existing.permissions, ...added])
    const promotions = promotionsOf(cx, tx, { role: input.key, permissions: added })
    requireConfirmed(tx, promotions, input.confirmed ?? [])
    const data = {
      key: input.key,
      ...(displayName !== existing.displayName && { displayName }),
      ...(!isSame && { permissions }),
    }
    if (Object.keys(data).length === 1) return existing.changed
    tx.append(customRoles, tx.instance, [{ type: "role.changed", data }])
    return tx.now
  })
  return step.value
}

/**
 * Removes a role that is not assigned to any user. Returns the time, ms UTC; undefined if the role
 * does not exist.
 */
export async function removeRole(cx: Cx, key: string): Promise<number | undefined> {
  if (Object.hasOwn(builtIn, key)) throw builtInRoleError()
  const step = await cx.store.transact(cx, (tx) => {
    const existing = findCustomRole(tx.state(customRoles, tx.instance), key)
    if (!existing) return undefined
    requireAllPermissions(tx, existing.permissions)
    if (isRoleAssigned(cx, key)) throw roleInUseError()
    tx.append(customRoles, tx.instance, [{ type: "role.removed", data: { key } }])
    return tx.now
  })
  return step.value
}

/** Custom roles belong to the instance, so the caller must have their permissions on it. */
function requireAllPermissions(tx: Reader, permissions: readonly string[]): void {
  const missingPermission = findMissingPermission(tx, { level: "instance" }, permissions)
  if (missingPermission !== undefined) throw roleTooHighError(missingPermission)
}

/** Role lists are stored as "|A|B|", and the prefixes of built-in roles are reserved. */
const keyPattern = /^[A-Za-z][A-Za-z0-9_.-]{0,99}$/
const reservedPrefix = /^(SYSTEM|IAM|ORG|PROJECT|SELF)_/i

function parseKey(key: string): string {
  if (keyPattern.test(key) && !reservedPrefix.test(key)) return key
  throw fieldError(
    "role.key_invalid",
    "key",
    "must be 1 to 100 letters, digits, dots, dashes or underscores, begin with a letter, " +
      "and not begin with the prefix of a built-in role: SYSTEM_, IAM_, ORG_, PROJECT_ or " +
      "SELF_",
  )
}

function parsePermissions(level: Target["level"], requested: readonly string[]): readonly string[] {
  const permissions = [...new Set(requested)].sort()
  if (permissions.length === 0) {
    throw new Fault(
      "invalid_argument",
      "role.permissions_missing",
      "must contain at least one permission",
    )
  }
  const unknown = permissions.find((each) => !assignablePermissions(level).has(each))
  if (unknown === undefined) return permissions
  throw new Fault(
    "invalid_argument",
    "role.permission_unknown",
    "must contain only known permissions that a built-in role of this level has",
  )
}

/** The permissions of the built-in roles of a level; for the instance, those of all levels. */
function assignablePermissions(level: Target["level"]): ReadonlySet<string> {
  const fitting = Object.entries(builtIn).filter(([, role]) =>
    level === "instance" ? role.level !== "system" : role.level === level,
  )
  return new Set(fitting.flatMap(([key]) => [...permissionsOf(key)]))
}

function roleNotFoundError(key: string): Fault {
  if (Object.hasOwn(builtIn, key)) return builtInRoleError()
  return new Fault("not_found", "role.missing", "role not found")
}

const builtInRoleError = () =>
  new Fault("failed_precondition", "role.built_in", "built-in roles can't be updated or removed")

const roleInUseError = () =>
  new Fault(
    "failed_precondition",
    "role.in_use",
    "the role is still assigned to a user or a group; ListAdministrators and " +
      "ListGroupAdministrators show the assignments",
  )

const tooManyRolesError = () =>
  new Fault(
    "failed_precondition",
    "role.too_many",
    `an instance can have at most ${rolesMax} custom roles; remove one first`,
  )
