import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import { guardGroups } from "../../group/index.ts"
import { lackingIn, type RolesOn } from "../held.ts"
import { mustBeConfirmed, promotionBy } from "../promotion.ts"
import { groupAdministrator, targetOf } from "./model.ts"
import { rolesOfGroupIn } from "./view.ts"

/** The manager roles of groups themselves. */
const rolesOf = (tx: Transaction, groupIds: readonly string[]): readonly RolesOn[] =>
  groupIds
    .flatMap((groupId) => rolesOfGroupIn(tx, groupId))
    .map(({ id }) => tx.state(groupAdministrator, id))
    .map((state) => ({ target: targetOf(state), roles: state.roles }))

/**
 * A group ranks like its roles and those of all groups that it is in. Whoever adds or removes its
 * members, renames or deletes it must have these roles, and what others set up for users who get
 * them must be confirmed.
 */
guardGroups((tx, { groupIds, userIds, confirmed }) => {
  const given = rolesOf(tx, groupIds)
  for (const each of given) {
    const lacking = lackingIn(tx, each)
    if (lacking !== undefined) throw groupTooHighError(lacking)
  }
  const promotions = userIds.flatMap((userId) =>
    given.map((each) => promotionBy(tx, { ...each, userId })),
  )
  mustBeConfirmed(tx, promotions, confirmed)
})

const groupTooHighError = (lacking: string): Fault =>
  new Fault(
    "permission_denied",
    "group.outranks_you",
    "this group, or a group that it is a member of, has a role that permits more than yours: " +
      `you lack ${lacking}`,
  )
