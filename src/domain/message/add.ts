import { foldEmail } from "../../protocol/email.ts"
import type { Transaction } from "../../store/index.ts"
import { hasLeft, user } from "../user-model/index.ts"
import { type Cause, isFull, message, messageCount } from "./model.ts"

/**
 * Puts a message to a person into the outbox, once by each id, as a part of a step. One too many
 * to the same address within an hour is kept, and does not go out by itself. Nobody is written to
 * who has left, or has no such address.
 */
export function addMessage(tx: Transaction, id: string, cause: Cause, more: Private = {}): void {
  if (tx.state(message, id).status !== "absent") return
  const person = tx.state(user, cause.userId)
  if (hasLeft(person) || person.kind !== "human") return
  const to = cause.channel === "email" ? person.email.address : (person.phone?.number ?? "")
  if (to === "") return
  const owner = tx.owner(user, cause.userId)
  addMessageTo(tx, id, { cause, to, ...more, owner })
  const address = tx.secrets.hash(foldEmail(to), "message_address")
  if (isFull(tx.state(messageCount, address), tx.now)) {
    const error = "too many messages went to this address within an hour"
    tx.append(message, id, [{ type: "message.failed", data: { error } }])
  } else tx.append(messageCount, address, [{ type: "message.counted", data: {} }], owner)
}

/** What a message holds that is its person's alone; see `MessageEvent`. */
type Private = { readonly sealed?: string; readonly place?: string }

type Addressed = Private & {
  readonly cause: Cause
  readonly to: string
  /** In whose outbox it stands: an organisation, or the instance. */
  readonly owner: string
}

/**
 * The same to an address that may be nobody's yet. Whoever lets it be asked for counts how often:
 * here it would use up what the person is sent whose address it is.
 */
export function addMessageTo(
  tx: Transaction,
  id: string,
  { cause, owner, ...secret }: Addressed,
): void {
  if (tx.state(message, id).status !== "absent") return
  tx.append(message, id, [{ type: "message.added", data: cause, private: secret }], owner)
}
