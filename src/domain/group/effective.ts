import { type Cx, cachedBy, statement } from "../../store/index.ts"
import { groupUserView } from "./view.ts"

const effective = statement<{ id: string }>(
  `SELECT group_id AS id FROM group_users
   WHERE instance = $instance AND user_id = $userId ORDER BY group_id`,
)

/**
 * IDs of all groups that a user is in, directly or through groups in groups, each once and in the
 * order of the IDs. All belong to the user's organization. Reads what was written last, so a change
 * of a membership applies to the next call.
 */
export const effectiveGroupIds = cachedBy(
  (cx: Cx, userId: string): readonly string[] =>
    cx.store.all(cx, effective, { userId }).map(({ id }) => id),
  groupUserView,
)
