import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import { guardGroups } from "../../group/index.ts"
import { findMissingPermissionOfRoles, type RolesOn } from "../permission.ts"
import { promotionOf, requireConfirmed } from "../promotion.ts"
import { groupAdministrator, targetOf } from "./model.ts"
import { rolesOfGroupIn } from "./view.ts"

/** The administrator roles that groups have themselves. */
const rolesOf = (tx: Transaction, groupIds: readonly string[]): readonly RolesOn[] =>
  groupIds
    .flatMap((groupId) => rolesOfGroupIn(tx, groupId))
    .map(({ id }) => tx.state(groupAdministrator, id))
    .map((state) => ({ target: targetOf(state), roles: state.roles }))

/**
 * The rank of a group is that of its roles and of the roles of all groups that contain it. Callers
 * who add or remove members, rename or delete the group must have these roles, and credentials that
 * others created for users who get them must be confirmed.
 */
guardGroups((tx, { groupIds, userIds, confirmed }) => {
  const given = rolesOf(tx, groupIds)
  for (const each of given) {
    const lacking = findMissingPermissionOfRoles(tx, each)
    if (lacking !== undefined) throw groupTooHighError(lacking)
  }
  const promotions = userIds.flatMap((userId) =>
    given.map((each) => promotionOf(tx, { ...each, userId })),
  )
  requireConfirmed(tx, promotions, confirmed)
})

const groupTooHighError = (lacking: string): Fault =>
  new Fault(
    "permission_denied",
    "group.outranks_you",
    "this group, or a group that it is a member of, has a role that permits more than yours: " +
      `you lack ${lacking}`,
  )
