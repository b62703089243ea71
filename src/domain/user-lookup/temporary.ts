import {
  isTemporaryId,
  temporaryEmail,
  temporaryPrefix,
} from "../../protocol/self-check/temporary-id.ts"
import { type Cx, statement } from "../../store/index.ts"
import { hasLeft, user } from "../user-model/index.ts"

const end = "latchkey-doctor."

const some = statement<{ id: string }>(
  `SELECT id FROM users WHERE instance = $instance AND id >= $from AND id < $end
   ORDER BY id LIMIT 100`,
)

/** The users of self-checks that are not removed yet. */
export const temporaryUsers = (cx: Cx): readonly string[] =>
  cx.store
    .all(cx, some, { from: temporaryPrefix, end })
    .map(({ id }) => id)
    .filter((id) => isTemporary(cx, id))

/** Whether a self-check made a user: ids like theirs could be chosen once, and say little alone. */
export function isTemporary(cx: Cx, id: string): boolean {
  if (!isTemporaryId(id)) return false
  const state = cx.store.state(cx, user, id)
  if (hasLeft(state) || state.kind !== "human") return false
  return state.userName === id && state.email.address === temporaryEmail(id)
}
