import { Fault } from "../../kernel/fault.ts"
import { parseDisplayName } from "../../kernel/text/identifier.ts"
import type { Cx, Draft } from "../../store/index.ts"
import { requireExists } from "./commands.ts"
import { type ProjectEvent, project } from "./model.ts"
import { getRole } from "./role-view.ts"

export type RoleInput = {
  readonly key: string
  readonly displayName: string
  readonly group?: string | undefined
}

/** More than administrators can manage; every use of a token reads the project with its roles. */
const rolesMax = 1000

/** Adds roles that can be assigned to users. Rejects keys that already exist. */
export const addRoles = project.command<readonly RoleInput[]>((state, roleInputs) => {
  requireExists(state)
  const added = roleInputs.map(roleAddedEvent)
  const keys = new Set(added.map(({ data }) => data.key))
  if (keys.size < added.length || [...keys].some((key) => Object.hasOwn(state.roles, key))) {
    throw new Fault(
      "already_exists",
      "project.role_exists",
      "the project already has a role with this key",
    )
  }
  if (Object.keys(state.roles).length + added.length > rolesMax) {
    const message = `a project can have at most ${rolesMax} roles`
    throw new Fault("failed_precondition", "project.roles_too_many", message)
  }
  return added
})

const roleAddedEvent = ({ key, displayName, group }: RoleInput) =>
  ({
    type: "project.role.added",
    data: {
      key: parseDisplayName("role_key", key),
      displayName: parseDisplayName("display_name", displayName),
      group: parseGroup(group ?? ""),
    },
  }) as const satisfies Draft<ProjectEvent>

/** A group only sorts roles in lists; it can be empty. */
const parseGroup = (text: string): string =>
  text.trim() === "" ? "" : parseDisplayName("group", text)

export type UpdateRoleInput = {
  readonly key: string
  readonly displayName?: string | undefined
  readonly group?: string | undefined
}

/**
 * Updates the display name and group of a role. Returns the time of the last change, and whether
 * this call changed it.
 */
export async function updateRole(
  cx: Cx,
  id: string,
  { key, ...change }: UpdateRoleInput,
): Promise<{ readonly changed: number; readonly isNew: boolean }> {
  const step = await cx.store.transact(cx, (tx) => {
    requireExists(tx.state(project, id))
    // Roles change only through the project's stream, so this row matches the transaction.
    const row = getRole(cx, id, key)
    const { displayName = row.display_name, group = row.role_group } = change
    const data = {
      key,
      displayName: parseDisplayName("display_name", displayName),
      group: parseGroup(group),
    }
    if (data.displayName === row.display_name && data.group === row.role_group) {
      return { changed: row.changed, isNew: false }
    }
    const changed: Draft<ProjectEvent> = { type: "project.role.changed", data }
    tx.append(project, id, [changed])
    return { changed: tx.now, isNew: true }
  })
  return step.value
}

/** Removes a role, also from all users who have it; no-op if it does not exist. */
export const removeRole = project.command<string>((state, key) => {
  requireExists(state)
  return Object.hasOwn(state.roles, key) ? [{ type: "project.role.removed", data: { key } }] : []
})
