import type { Cx } from "../../../store/index.ts"
import { checkUsersInBatches, usersOfGroup } from "../../group/index.ts"
import { requirePermissions } from "../commands.ts"
import { permissionsOn, type RolesOn } from "../permission.ts"
import { promotionOf, requireConfirmed } from "../promotion.ts"
import { targetOf } from "./model.ts"
import { groupsWithRole } from "./view.ts"

type Confirmation = { readonly confirmed: readonly string[] }

/**
 * Throws if users of a group have credentials that others created and the caller has not confirmed.
 * A group can have many users, so this is checked before the transaction that assigns the roles.
 */
export async function requireConfirmedUsersOf(
  cx: Cx,
  groupId: string,
  { target, roles, confirmed }: RolesOn & Confirmation,
): Promise<void> {
  await checkUsersInBatches(cx, usersOfGroup(cx, groupId), (tx, userIds) => {
    requirePermissions(tx, { target, roles })
    const promotions = userIds.map((userId) => promotionOf(tx, { target, userId, roles }))
    requireConfirmed(tx, promotions, confirmed)
  })
}

/** The same check for the users of all groups with a role that receives more permissions. */
export async function requireConfirmedUsersWith(
  cx: Cx,
  role: string,
  { permissions, confirmed }: Confirmation & { readonly permissions: readonly string[] },
): Promise<void> {
  if (permissions.length === 0) return
  for (const assignment of groupsWithRole(cx, role)) {
    const target = targetOf(assignment)
    await checkUsersInBatches(cx, usersOfGroup(cx, assignment.groupId), (tx, userIds) => {
      const promotions = userIds.map((userId) => {
        const heldPermissions = permissionsOn(tx, target, userId)
        return {
          target,
          userId,
          permissions: permissions.filter((each) => !heldPermissions.has(each)),
        }
      })
      requireConfirmed(tx, promotions, confirmed)
    })
  }
}
