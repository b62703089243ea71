import { Fault } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/text/given.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { hasLeft, type UserEvent, user } from "../user-model/index.ts"
import { heldMetadata } from "./metadata-view.ts"

/** What others note about a user: a key, and any bytes. */
export type Metadata = { readonly key: string; readonly value: Uint8Array }

const valueMax = 500_000

/** Of one user; all of it is told to whoever is granted the scope for it. */
const most = { keys: 500, bytes: 5_000_000 } as const

/** Checks what is to be noted; each key once. */
export function metadataOf(given: readonly Metadata[]): readonly Metadata[] {
  const entries = given.map(({ key, value }) => ({ key: givenName("metadata.key", key), value }))
  if (new Set(entries.map(({ key }) => key)).size < entries.length) {
    throw invalidError("user.metadata_twice", "name each key of the metadata once")
  }
  if (entries.some(({ value }) => value.length > valueMax)) {
    throw invalidError("user.metadata_too_long", `a value may have at most ${valueMax} bytes`)
  }
  mustFit(entries.length, sumOf(entries))
  return entries
}

/** The events that note it, for a user who has none of these keys with these values. */
export const metadataSet = (entries: readonly Metadata[]): readonly Draft<UserEvent>[] =>
  entries.map(({ key, value }) => ({
    type: "user.metadata.set",
    data: { key },
    private: { value: Buffer.from(value).toString("base64") },
  }))

/** Notes what is given about a user; what is so already changes nothing. */
export async function setMetadata(
  cx: Cx,
  id: string,
  given: readonly Metadata[],
): Promise<Receipt> {
  if (given.length === 0) throw nothing()
  const step = await cx.store.transact(cx, (tx) => noteMetadata(cx, tx, id, given))
  return step.receipt(user, id)
}

/** The same within a larger step. */
export function noteMetadata(
  cx: Cx,
  tx: Transaction,
  id: string,
  given: readonly Metadata[],
): void {
  mustBeThere(tx, id)
  if (given.length === 0) return
  const entries = metadataOf(given)
  // Metadata is of the user's stream, so these rows are as the step sees them.
  const held = heldMetadata(cx, id)
  const fresh = entries.filter(({ key, value }) => {
    const before = held.get(key)
    return !before || !Buffer.from(before).equals(value)
  })
  const kept = [...held].filter(([key]) => !fresh.some((entry) => entry.key === key))
  const bytes = kept.reduce((sum, [, value]) => sum + value.length, 0)
  mustFit(kept.length + fresh.length, bytes + sumOf(fresh))
  tx.append(user, id, metadataSet(fresh))
}

/** Forgets keys; those that are not there are let be. Undefined where none of them was. */
export async function removeMetadata(
  cx: Cx,
  id: string,
  keys: readonly string[],
): Promise<Receipt | undefined> {
  if (keys.length === 0) throw nothing()
  const step = await cx.store.transact(cx, (tx) => {
    mustBeThere(tx, id)
    const held = heldMetadata(cx, id)
    const gone = [...new Set(keys)].filter((key) => held.has(key))
    const removed: readonly Draft<UserEvent>[] = gone.map((key) => ({
      type: "user.metadata.removed",
      data: { key },
    }))
    tx.append(user, id, removed)
    return gone.length
  })
  return step.value === 0 ? undefined : step.receipt(user, id)
}

function mustBeThere(tx: Transaction, id: string): void {
  if (!hasLeft(tx.state(user, id))) return
  throw new Fault("not_found", "user.missing", "there is no such user")
}

function mustFit(keys: number, bytes: number): void {
  if (keys <= most.keys && bytes <= most.bytes) return
  throw new Fault(
    "failed_precondition",
    "user.metadata_too_much",
    `a user may have at most ${most.keys} keys of metadata, and ${most.bytes} bytes in all`,
  )
}

const sumOf = (entries: readonly Metadata[]) =>
  entries.reduce((sum, { value }) => sum + value.length, 0)

const nothing = () => invalidError("user.metadata_missing", "name at least one key of metadata")

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
