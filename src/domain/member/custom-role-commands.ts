import { Fault, fieldError } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/text/given.ts"
import type { Cx } from "../../store/index.ts"
import { customRole, customRoles, stateReader } from "./custom-role.ts"
import { confirmUsersWith } from "./group/confirm.ts"
import { lackingOf, type Reader, roleTooHighError } from "./held.ts"
import type { Target } from "./model.ts"
import { mustBeConfirmed, promotionsBy } from "./promotion.ts"
import { roles as builtIn, permissionsOf } from "./roles.ts"
import { isRoleHeld } from "./view.ts"

/** What one instance may make for itself: its roles are one state, read whenever one is used. */
const rolesMax = 100

type RoleInput = {
  readonly key: string
  readonly displayName: string
  readonly level: Target["level"]
  readonly permissions: readonly string[]
}

/**
 * Makes a role: a name for a set of permissions. Refuses permissions that the caller lacks, that no
 * built-in role of the level has, and a key that somebody still holds from an earlier role.
 */
export async function createRole(cx: Cx, input: RoleInput): Promise<number> {
  const key = givenKey(input.key)
  const displayName = givenName("display_name", input.displayName || key)
  const permissions = givenPermissions(input.level, input.permissions)
  const step = await cx.store.transact(cx, (tx) => {
    const state = tx.state(customRoles, tx.instance)
    if (customRole(state, key)) {
      throw new Fault("already_exists", "role.exists", "there is already a role with this key")
    }
    if (isRoleHeld(cx, key)) throw roleHeldError()
    if (Object.keys(state.roles).length >= rolesMax) throw tooManyError()
    mustHoldAll(tx, permissions)
    const data = { key, displayName, level: input.level, permissions }
    tx.append(customRoles, tx.instance, [{ type: "role.added", data }])
    return tx.now
  })
  return step.value
}

type RoleChange = {
  readonly key: string
  readonly displayName?: string | undefined
  /** Empty: they stay. */
  readonly permissions: readonly string[]
  /** What others created for the holders, and the caller confirms; see `mustBeConfirmed`. */
  readonly confirmed?: readonly string[]
}

/**
 * Changes a role for everybody who holds it, with their next request. Refuses to give or to take
 * permissions that the caller lacks, and to permit more to users for whom others created
 * credentials that are not confirmed. Answers when the role last changed, in ms UTC.
 */
export async function changeRole(cx: Cx, input: RoleChange): Promise<number> {
  const before = customRole(cx.store.state(cx, customRoles, cx.instance), input.key)
  const permissions = input.permissions.filter((each) => !before?.permissions.includes(each))
  mustHoldAll({ ...stateReader(cx), caller: cx.caller, authors: cx.authors }, permissions)
  await confirmUsersWith(cx, input.key, { permissions, confirmed: input.confirmed ?? [] })
  const step = await cx.store.transact(cx, (tx) => {
    const known = customRole(tx.state(customRoles, tx.instance), input.key)
    if (!known) throw missingRoleError(input.key)
    const displayName =
      input.displayName === undefined
        ? known.displayName
        : givenName("display_name", input.displayName)
    const permissions =
      input.permissions.length === 0
        ? known.permissions
        : givenPermissions(known.level, input.permissions)
    const added = permissions.filter((each) => !known.permissions.includes(each))
    const isSame = added.length === 0 && permissions.length === known.permissions.length
    mustHoldAll(tx, [...known.permissions, ...added])
    const promotions = promotionsBy(cx, tx, { role: input.key, permissions: added })
    mustBeConfirmed(tx, promotions, input.confirmed ?? [])
    const data = {
      key: input.key,
      ...(displayName !== known.displayName && { displayName }),
      ...(!isSame && { permissions }),
    }
    if (Object.keys(data).length === 1) return known.changed
    tx.append(customRoles, tx.instance, [{ type: "role.changed", data }])
    return tx.now
  })
  return step.value
}

/**
 * Removes a role that nobody holds; whoever may remove it takes it from its holders first. Answers
 * when, in ms UTC; undefined where there was none.
 */
export async function removeRole(cx: Cx, key: string): Promise<number | undefined> {
  if (Object.hasOwn(builtIn, key)) throw roleFixedError()
  const step = await cx.store.transact(cx, (tx) => {
    const known = customRole(tx.state(customRoles, tx.instance), key)
    if (!known) return undefined
    mustHoldAll(tx, known.permissions)
    if (isRoleHeld(cx, key)) throw roleHeldError()
    tx.append(customRoles, tx.instance, [{ type: "role.removed", data: { key } }])
    return tx.now
  })
  return step.value
}

/** Roles are of the instance, so what they give must be held there. */
function mustHoldAll(tx: Reader, permissions: readonly string[]): void {
  const lacking = lackingOf(tx, { level: "instance" }, permissions)
  if (lacking !== undefined) throw roleTooHighError(lacking)
}

/** Lists of roles read "|A|B|", and what built-in roles begin with is kept for more of them. */
const keyShape = /^[A-Za-z][A-Za-z0-9_.-]{0,99}$/
const reserved = /^(SYSTEM|IAM|ORG|PROJECT|SELF)_/i

function givenKey(key: string): string {
  if (keyShape.test(key) && !reserved.test(key)) return key
  throw fieldError(
    "role.key_invalid",
    "key",
    "must be 1 to 100 letters, digits, dots, dashes or underscores, begin with a letter, " +
      "and not with SYSTEM_, IAM_, ORG_, PROJECT_ or SELF_, which built-in roles begin with",
  )
}

function givenPermissions(level: Target["level"], given: readonly string[]): readonly string[] {
  const permissions = [...new Set(given)].sort()
  if (permissions.length === 0) {
    throw new Fault("invalid_argument", "role.permissions_missing", "name at least one permission")
  }
  const unknown = permissions.find((each) => !permissionsFor(level).has(each))
  if (unknown === undefined) return permissions
  throw new Fault(
    "invalid_argument",
    "role.permission_unknown",
    "one of the permissions is not known, or no built-in role of this level has it",
  )
}

/** What the built-in roles of a level permit; those of the instance may be given anything below. */
function permissionsFor(level: Target["level"]): ReadonlySet<string> {
  const fitting = Object.entries(builtIn).filter(([, role]) =>
    level === "instance" ? role.level !== "system" : role.level === level,
  )
  return new Set(fitting.flatMap(([key]) => [...permissionsOf(key)]))
}

function missingRoleError(key: string): Fault {
  if (Object.hasOwn(builtIn, key)) return roleFixedError()
  return new Fault("not_found", "role.missing", "there is no such role")
}

const roleFixedError = () =>
  new Fault("failed_precondition", "role.built_in", "built-in roles can't be changed or removed")

const roleHeldError = () =>
  new Fault(
    "failed_precondition",
    "role.in_use",
    "a user or a group still has a role with this key: see ListAdministrators and " +
      "ListGroupAdministrators",
  )

const tooManyError = () =>
  new Fault(
    "failed_precondition",
    "role.too_many",
    `an instance may have at most ${rolesMax} roles of its own; remove one first`,
  )
