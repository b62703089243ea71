/** Between the first try and the second; each further pause is half as long again. */
const firstPauseMs = 5_000
const growth = 1.5
/** Greylisting lasts 1 to 15 minutes (RFC 6647 §5): no try comes later than twice that. */
const longestPauseMs = 15 * 60_000
/** A provider may request a longer pause than ours, up to this. */
const retryAfterMaxMs = 3_600_000
/** A code is sent once more this long before it expires: its reader has to type it. */
const lastChanceMs = 30_000

/** No pause is longer. */
export const maxPauseMs = retryAfterMaxMs

export type RetryInput = {
  readonly now: number
  /** How often the message was tried so far. */
  readonly tries: number
  /** ms UTC; 0 where the message has no code. */
  readonly codeExpires: number
  /** What the provider requests. */
  readonly retryAfterMs?: number | undefined
}

/** When a message is tried next, ms UTC; with a code, before it expires where that is possible. */
export function nextTry({ now, tries, codeExpires, retryAfterMs = 0 }: RetryInput): number {
  const pauseMs = Math.min(firstPauseMs * growth ** (tries - 1), longestPauseMs)
  const earliest = now + Math.min(retryAfterMs, retryAfterMaxMs)
  const due = Math.max(now + Math.round(pauseMs), earliest)
  if (codeExpires === 0) return due
  const lastChance = codeExpires - lastChanceMs
  const hasLastChance = lastChance >= Math.max(now + firstPauseMs, earliest)
  return due > lastChance && hasLastChance ? lastChance : Math.min(due, codeExpires)
}
