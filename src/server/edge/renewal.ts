import type { Failure } from "../../boot/edge/kept.ts"
import type { Random } from "../../kernel/crypto/random.ts"

const minuteMs = 60_000
const dayMs = 86_400_000

/** Between 0 and 1: that not all who began on the same day come back on the same day, too. */
const jitter = ({ bytes }: Random): number => Buffer.from(bytes(4)).readUInt32BE() / 2 ** 32

/**
 * When to get the next one: with a third of its life left, and up to a thirtieth earlier. Times are
 * ms UTC.
 */
export function renewalOf(life: { readonly from: number; readonly ends: number }, random: Random) {
  const whole = life.ends - life.from
  return Math.round(life.ends - whole / 3 - (jitter(random) * whole) / 30)
}

type Refused = {
  readonly host: string
  readonly by: string
  readonly said: string
  /** What the authority asked for. */
  readonly waitMs: number
}

/**
 * When to try again: after five minutes, then twice as long each time, up to a day; later where the
 * authority says so. That are four failures in an hour, where Let's Encrypt allows five.
 */
export function failedOnce(
  before: Failure | undefined,
  refused: Refused,
  { now, random }: { readonly now: number; readonly random: Random },
): Failure {
  const { host, by, said, waitMs } = refused
  const count = (before?.count ?? 0) + 1
  const usual = Math.min(5 * minuteMs * 2 ** Math.min(count - 1, 12), dayMs)
  const wait = Math.max(usual, waitMs) * (1 + jitter(random) / 10)
  return { host, by, count, said, next: Math.round(now + wait) }
}
