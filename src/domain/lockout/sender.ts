import { isOpenWindow } from "../../kernel/clock.ts"
import { type Sender, senderOf, unknownSender } from "../../protocol/sender.ts"
import type { Erasure, Transaction, Upcaster } from "../../store/index.ts"
import { isAbsent, user } from "../user-model/index.ts"

/** The oldest stored sender of failed attempts; `oldest` is the time of that failure. */
export type Senders = { readonly oldest: number }

/** The time of the oldest stored sender after a failed attempt; 0 if there is none. */
export const oldestSender = (
  { oldest }: Senders,
  { time, erase }: { readonly time: number; readonly erase?: Erasure | null },
): number => (erase || oldest === 0 ? time : oldest)

/**
 * Erases all senders once the oldest was stored for `keptMs`, because single events can't be
 * erased. Part of the event of the next attempt.
 */
export const eraseAfter = (
  { oldest }: Senders,
  { keptMs, now }: { readonly keptMs: number; readonly now: number },
): { readonly erase?: Erasure } =>
  oldest === 0 || isOpenWindow(oldest, keptMs, now) ? {} : { erase: {} }

/** Events of the first revision have no sender. */
export const withoutSender: Upcaster = (data) => ({ data, private: null })

/** The sender of a failed attempt if the account exists; it is erased with the user. */
export function senderFor(tx: Transaction, userId: string | undefined): Sender {
  const isExistingUser = userId !== undefined && !isAbsent(tx.state(user, userId))
  return isExistingUser && tx.from ? senderOf(tx.from) : unknownSender
}
