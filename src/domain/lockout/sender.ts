import { isOpenWindow } from "../../kernel/clock.ts"
import { type Sender, senderOf, unknownSender } from "../../protocol/sender.ts"
import type { Erasure, Transaction, Upcaster } from "../../store/index.ts"
import { hasLeft, user } from "../user-model/index.ts"

/** Where failed tries came from, as far as that is kept; `oldest` is when the first failed. */
export type Senders = { readonly oldest: number }

/** When the first sender is kept that is, after a failed try; 0 where none is. */
export const oldestSender = (
  { oldest }: Senders,
  { time, erase }: { readonly time: number; readonly erase?: Erasure | null },
): number => (erase || oldest === 0 ? time : oldest)

/**
 * Erases all senders so far once the first of them has been kept for long enough: those of single
 * events can't be erased. Put into the event that counts the next try.
 */
export const eraseAfter = (
  { oldest }: Senders,
  { keptMs, now }: { readonly keptMs: number; readonly now: number },
): { readonly erase?: Erasure } =>
  oldest === 0 || isOpenWindow(oldest, keptMs, now) ? {} : { erase: {} }

/** Events of the first revision have no sender. */
export const withoutSender: Upcaster = (data) => ({ data, private: null })

/** Where a failed try comes from, if it is somebody's: it is erased with them. */
export function senderFor(tx: Transaction, userId: string | undefined): Sender {
  const isTheirs = userId !== undefined && !hasLeft(tx.state(user, userId))
  return isTheirs && tx.from ? senderOf(tx.from) : unknownSender
}
