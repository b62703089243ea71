import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import { registerGroupChangeCheck } from "../../group/index.ts"
import { findMissingPermissionOfRoles, type RolesOn } from "../permission.ts"
import { promotionOf, requireConfirmed } from "../promotion.ts"
import { groupAdministrator, targetOf } from "./model.ts"
import { rolesOfGroupIn } from "./view.ts"

/** The administrator roles of groups, without those of groups that contain them. */
const rolesOf = (tx: Transaction, groupIds: readonly string[]): readonly RolesOn[] =>
  groupIds
    .flatMap((groupId) => rolesOfGroupIn(tx, groupId))
    .map(({ id }) => tx.state(groupAdministrator, id))
    .map((state) => ({ target: targetOf(state), roles: state.roles }))

/**
 * A group has the rank of its own roles and of the roles of all groups that contain it. Callers who
 * add or remove members, rename or delete the group must have these roles, and must confirm
 * credentials that others created for users who receive the roles.
 */
registerGroupChangeCheck((tx, { groupIds, userIds, confirmed }) => {
  const assignments = rolesOf(tx, groupIds)
  for (const each of assignments) {
    const missingPermission = findMissingPermissionOfRoles(tx, each)
    if (missingPermission !== undefined) throw groupTooHighError(missingPermission)
  }
  const promotions = userIds.flatMap((userId) =>
    assignments.map((each) => promotionOf(tx, { ...each, userId })),
  )
  requireConfirmed(tx, promotions, confirmed)
})

const groupTooHighError = (missingPermission: string): Fault =>
  new Fault(
    "permission_denied",
    "group.outranks_you",
    "permission denied: this group, or a group that contains it, has permissions that you " +
      `don't have, such as ${missingPermission}`,
  )
