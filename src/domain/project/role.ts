import { Fault } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/text/given.ts"
import type { Cx, Draft } from "../../store/index.ts"
import { mustExist } from "./commands.ts"
import { type ProjectEvent, project } from "./model.ts"
import { findRole } from "./role-view.ts"

export type NewRole = {
  readonly key: string
  readonly displayName: string
  readonly group?: string | undefined
}

/** More than anybody keeps apart; every use of a token reads the project with its roles. */
const rolesMax = 1000

/** Adds roles that users can be given on a project. Refuses a key that is there already. */
export const addRoles = project.command<readonly NewRole[]>((state, given) => {
  mustExist(state)
  const added = given.map(roleAdded)
  const keys = new Set(added.map(({ data }) => data.key))
  if (keys.size < added.length || [...keys].some((key) => Object.hasOwn(state.roles, key))) {
    throw new Fault(
      "already_exists",
      "project.role_exists",
      "the project already has a role with this key",
    )
  }
  if (Object.keys(state.roles).length + added.length > rolesMax) {
    const message = `a project may have at most ${rolesMax} roles`
    throw new Fault("failed_precondition", "project.roles_too_many", message)
  }
  return added
})

const roleAdded = ({ key, displayName, group }: NewRole) =>
  ({
    type: "project.role.added",
    data: {
      key: givenName("role_key", key),
      displayName: givenName("display_name", displayName),
      group: groupOf(group ?? ""),
    },
  }) as const satisfies Draft<ProjectEvent>

/** A group only sorts roles for who looks at them; it may be empty. */
const groupOf = (text: string): string => (text.trim() === "" ? "" : givenName("group", text))

export type RoleChange = {
  readonly key: string
  readonly displayName?: string | undefined
  readonly group?: string | undefined
}

/** Changes how a role is shown. Answers when it last changed, and whether that was now. */
export async function changeRole(
  cx: Cx,
  id: string,
  { key, ...change }: RoleChange,
): Promise<{ readonly changed: number; readonly isNew: boolean }> {
  const step = await cx.store.transact(cx, (tx) => {
    mustExist(tx.state(project, id))
    // Whatever changes a role is of the project's stream, so this row is as the step sees it.
    const row = findRole(cx, id, key)
    const { displayName = row.display_name, group = row.role_group } = change
    const data = { key, displayName: givenName("display_name", displayName), group: groupOf(group) }
    if (data.displayName === row.display_name && data.group === row.role_group) {
      return { changed: row.changed, isNew: false }
    }
    const changed: Draft<ProjectEvent> = { type: "project.role.changed", data }
    tx.append(project, id, [changed])
    return { changed: tx.now, isNew: true }
  })
  return step.value
}

/** Removes a role, and takes it from everybody who has it. Nothing happens where it is gone. */
export const removeRole = project.command<string>((state, key) => {
  mustExist(state)
  return Object.hasOwn(state.roles, key) ? [{ type: "project.role.removed", data: { key } }] : []
})
