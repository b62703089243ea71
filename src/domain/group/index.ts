import { groupUser } from "./member.ts"
import { group } from "./model.ts"
import { groupNesting } from "./nesting.ts"
import { groupChain, groupNestingView, groupUserView, groupView } from "./view.ts"

export { createGroup, ensureGroup, groupNamed } from "./commands.ts"
export { effectiveGroupIds } from "./effective.ts"
export { enterGroup, groupUser } from "./member.ts"
export { group } from "./model.ts"
export { groupsOfUser } from "./view.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [group, groupUser, groupNesting],
  views: [groupView, groupUserView, groupNestingView],
  chains: { group: groupChain },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
