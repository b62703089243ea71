import { type Random, randomToken } from "../../kernel/crypto/random.ts"
import { type Cx, statement } from "../../store/index.ts"
import { hasLeft, user } from "./model.ts"

/** What the ids begin with of users and applications that a self-check makes, and removes again. */
const temporaryPrefix = "latchkey-doctor-"
const end = "latchkey-doctor."

export const isTemporaryId = (id: string): boolean => id.startsWith(temporaryPrefix)

/** An id that nobody had before, and nobody is given later; it names the node that made it. */
export const newTemporaryId = (random: Random, node: number): string =>
  `${prefixOf(node)}${randomToken(random, 12)}`

/** Whether a self-check of this node made a user. */
export const isTemporaryOf = (id: string, node: number): boolean => id.startsWith(prefixOf(node))

const prefixOf = (node: number): string => `${temporaryPrefix}${node}-`

/** RFC 2606 §2: no mail can be sent there. */
export const temporaryEmail = (id: string): string => `${id}@doctor.invalid`

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
