import { type Cx, cacheQueryByKey, type DecisionContext, statement } from "../../store/index.ts"
import { groupNestingView, groupUserView } from "./view.ts"

// UNION returns each group once, so that the recursion ends even if groups contain each other.
const groupsOfUser = statement<{ id: string }>(
  `WITH RECURSIVE reached(id) AS (
     SELECT group_id FROM group_users WHERE instance = $instance AND user_id = $userId
     UNION
     SELECT n.group_id FROM reached r
       JOIN group_groups n ON n.instance = $instance AND n.member_id = r.id
   )
   SELECT id FROM reached ORDER BY id`,
)

/**
 * IDs of all groups that a user is in, directly or through other groups, each once and sorted. All
 * belong to the user's organization. Includes the latest membership changes.
 */
export const effectiveGroupIds = cacheQueryByKey(
  (cx, userId): readonly string[] => cx.store.all(cx, groupsOfUser, { userId }).map(({ id }) => id),
  groupUserView,
  groupNestingView,
)

/** Like `effectiveGroupIds`, as of before the transaction. */
export const effectiveGroupIdsIn = (
  read: Pick<DecisionContext, "rows">,
  userId: string,
): readonly string[] => read.rows(groupsOfUser, { userId }).map(({ id }) => id)

const usersInGroup = statement<{ id: string }>(
  `WITH RECURSIVE nested(id) AS (
     SELECT id FROM groups WHERE instance = $instance AND id = $groupId
     UNION
     SELECT n.member_id FROM nested r
       JOIN group_groups n ON n.instance = $instance AND n.group_id = r.id
   )
   SELECT DISTINCT u.user_id AS id FROM nested r
     JOIN group_users u ON u.instance = $instance AND u.group_id = r.id`,
)

/** IDs of all users of a group, directly or through groups that it contains, each once. */
export const usersOfGroup = (
  cx: Pick<Cx, "store" | "instance">,
  groupId: string,
): readonly string[] => cx.store.all(cx, usersInGroup, { groupId }).map(({ id }) => id)
