import { groupUser } from "./member.ts"
import { group } from "./model.ts"
import { groupNesting } from "./nesting.ts"
import { groupChain, groupNestingView, groupUserView, groupView } from "./view.ts"

export { createGroup, ensureGroup, findGroupByName } from "./commands.ts"
export { effectiveGroupIds, effectiveGroupIdsIn, usersOfGroup } from "./effective.ts"
export { checkUsersInBatches, registerGroupChangeCheck } from "./guard.ts"
export { addToGroup, addUserToGroup, groupUser, removeFromGroup } from "./member.ts"
export { deleteGroup } from "./member-group.ts"
export { type GroupEvent, group } from "./model.ts"
export { groupNesting } from "./nesting.ts"
export { groupNamesOfUser } from "./view.ts"

/** The views that determine which groups a user is in. */
export const membershipViews = [groupUserView, groupNestingView] as const

/** Everything that this module registers with the server. */
export const module = {
  aggregates: [group, groupUser, groupNesting],
  views: [groupView, groupUserView, groupNestingView],
  chains: { group: groupChain },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
