/** The pause between the first two attempts; each further pause is 1.5 times as long. */
const firstPauseMs = 5_000
const growth = 1.5
/** Greylisting lasts 1 to 15 minutes (RFC 6647 §5), so no pause is longer than 15 minutes. */
const longestPauseMs = 15 * 60_000
/** The longest pause that a provider can request. */
const retryAfterMaxMs = 3_600_000
/**
 * The last attempt for a code is made this long before it expires, so that the user can still enter
 * it.
 */
const lastAttemptMs = 30_000

/** The longest possible pause. */
export const maxPauseMs = retryAfterMaxMs

export type RetryInput = {
  readonly now: number
  /** The number of attempts so far. */
  readonly tries: number
  /** In ms since the epoch; 0 without a code. */
  readonly codeExpires: number
  /** The pause that the provider requests. */
  readonly retryAfterMs?: number | undefined
}

/** The time of the next attempt, in ms since the epoch; before the code expires, if possible. */
export function nextAttemptAt({ now, tries, codeExpires, retryAfterMs = 0 }: RetryInput): number {
  const pauseMs = Math.min(firstPauseMs * growth ** (tries - 1), longestPauseMs)
  const earliest = now + Math.min(retryAfterMs, retryAfterMaxMs)
  const due = Math.max(now + Math.round(pauseMs), earliest)
  if (codeExpires === 0) return due
  const lastChance = codeExpires - lastAttemptMs
  const hasLastChance = lastChance >= Math.max(now + firstPauseMs, earliest)
  return due > lastChance && hasLastChance ? lastChance : Math.min(due, codeExpires)
}
