import {
  isTemporaryId,
  temporaryEmail,
  temporaryPrefix,
} from "../../protocol/self-check/temporary-id.ts"
import { type Cx, statement } from "../../store/index.ts"
import { isAbsent, user } from "../user-model/index.ts"

const prefixEnd = "latchkey-doctor."

const selectTemporary = statement<{ id: string }>(
  `SELECT id FROM users WHERE instance = $instance AND id >= $from AND id < $end
   ORDER BY id LIMIT 100`,
)

/** Users of self-checks that were not removed yet. */
export const listTemporaryUsers = (cx: Cx): readonly string[] =>
  cx.store
    .all(cx, selectTemporary, { from: temporaryPrefix, end: prefixEnd })
    .map(({ id }) => id)
    .filter((id) => isTemporary(cx, id))

/**
 * Whether a self-check created the user. The prefix alone is not sufficient, because IDs could be
 * chosen earlier.
 */
export function isTemporary(cx: Cx, id: string): boolean {
  if (!isTemporaryId(id)) return false
  const state = cx.store.state(cx, user, id)
  if (isAbsent(state) || state.kind !== "human") return false
  return state.userName === id && state.email.address === temporaryEmail(id)
}
