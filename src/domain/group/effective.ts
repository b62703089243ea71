import { type Cx, cacheQueryByKey, type DecisionContext, statement } from "../../store/index.ts"
import { groupNestingView, groupUserView } from "./view.ts"

// UNION finds each group once, so the walk also ends where groups contain each other.
const effective = statement<{ id: string }>(
  `WITH RECURSIVE reached(id) AS (
     SELECT group_id FROM group_users WHERE instance = $instance AND user_id = $userId
     UNION
     SELECT n.group_id FROM reached r
       JOIN group_groups n ON n.instance = $instance AND n.member_id = r.id
   )
   SELECT id FROM reached ORDER BY id`,
)

/**
 * IDs of all groups that a user is in, directly or through groups in groups, each once and in the
 * order of the IDs. All belong to the user's organization. Reads what was written last, so a change
 * of a membership applies to the next call.
 */
export const effectiveGroupIds = cacheQueryByKey(
  (cx, userId): readonly string[] => cx.store.all(cx, effective, { userId }).map(({ id }) => id),
  groupUserView,
  groupNestingView,
)

/** The same from the rows before a step. */
export const effectiveGroupsIn = (
  read: Pick<DecisionContext, "rows">,
  userId: string,
): readonly string[] => read.rows(effective, { userId }).map(({ id }) => id)

const users = statement<{ id: string }>(
  `WITH RECURSIVE nested(id) AS (
     SELECT id FROM groups WHERE instance = $instance AND id = $groupId
     UNION
     SELECT n.member_id FROM nested r
       JOIN group_groups n ON n.instance = $instance AND n.group_id = r.id
   )
   SELECT DISTINCT u.user_id AS id FROM nested r
     JOIN group_users u ON u.instance = $instance AND u.group_id = r.id`,
)

/** IDs of all users of a group, directly or through groups in it, each once. */
export const usersOfGroup = (
  cx: Pick<Cx, "store" | "instance">,
  groupId: string,
): readonly string[] => cx.store.all(cx, users, { groupId }).map(({ id }) => id)
