import type { Cx } from "../../../store/index.ts"
import { forUsers, usersOfGroup } from "../../group/index.ts"
import { requirePermissions } from "../commands.ts"
import { permissionsOn, type RolesOn } from "../permission.ts"
import { promotionOf, requireConfirmed } from "../promotion.ts"
import { targetOf } from "./model.ts"
import { groupsWithRole } from "./view.ts"

type Confirmed = { readonly confirmed: readonly string[] }

/**
 * Throws if users of a group have credentials that others created and the caller has not confirmed.
 * A group can have many users, so this is checked before the transaction that assigns the roles.
 */
export async function confirmUsersOf(
  cx: Cx,
  groupId: string,
  { target, roles, confirmed }: RolesOn & Confirmed,
): Promise<void> {
  await forUsers(cx, usersOfGroup(cx, groupId), (tx, userIds) => {
    requirePermissions(tx, { target, roles })
    const promotions = userIds.map((userId) => promotionOf(tx, { target, userId, roles }))
    requireConfirmed(tx, promotions, confirmed)
  })
}

/** The same for users who have a role through a group when the role gets more permissions. */
export async function confirmUsersWith(
  cx: Cx,
  role: string,
  { permissions, confirmed }: Confirmed & { readonly permissions: readonly string[] },
): Promise<void> {
  if (permissions.length === 0) return
  for (const place of groupsWithRole(cx, role)) {
    const target = targetOf(place)
    await forUsers(cx, usersOfGroup(cx, place.groupId), (tx, userIds) => {
      const promotions = userIds.map((userId) => {
        const held = permissionsOn(tx, target, userId)
        return { target, userId, permissions: permissions.filter((each) => !held.has(each)) }
      })
      requireConfirmed(tx, promotions, confirmed)
    })
  }
}
