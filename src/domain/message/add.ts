import { foldEmail } from "../../protocol/email.ts"
import type { Transaction } from "../../store/index.ts"
import { isAbsent, user } from "../user-model/index.ts"
import { type Cause, isLimitReached, message, messageCount } from "./model.ts"

/**
 * Adds a message to a user to the outbox within a step, once per ID. Above the hourly limit of an
 * address, the message is stored but not sent automatically. Does nothing if the user was deleted
 * or lacks the address.
 */
export function addMessage(
  tx: Transaction,
  id: string,
  cause: Cause,
  personalData: PersonalData = {},
): void {
  if (tx.state(message, id).status !== "absent") return
  const person = tx.state(user, cause.userId)
  if (isAbsent(person) || person.kind !== "human") return
  const to = cause.channel === "email" ? person.email.address : (person.phone?.number ?? "")
  if (to === "") return
  const owner = tx.owner(user, cause.userId)
  addMessageTo(tx, id, { cause, to, ...personalData, owner })
  const address = tx.secrets.hash(foldEmail(to), "message_address")
  if (isLimitReached(tx.state(messageCount, address), tx.now)) {
    const error = "too many messages to this address within an hour"
    tx.append(message, id, [{ type: "message.failed", data: { error } }])
  } else tx.append(messageCount, address, [{ type: "message.counted", data: {} }], owner)
}

/** The personal data of a message; see `MessageEvent`. */
type PersonalData = { readonly sealed?: string; readonly place?: string }

type AddressedMessage = PersonalData & {
  readonly cause: Cause
  readonly to: string
  /** The owner of the message: an organization or the instance. */
  readonly owner: string
}

/**
 * The same for an address that may not belong to a user yet. The caller must limit the requests,
 * because the limit here would affect the owner of the address.
 */
export function addMessageTo(
  tx: Transaction,
  id: string,
  { cause, owner, ...secret }: AddressedMessage,
): void {
  if (tx.state(message, id).status !== "absent") return
  tx.append(message, id, [{ type: "message.added", data: cause, private: secret }], owner)
}
