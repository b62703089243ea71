import type { RenewalFailure } from "../../boot/edge/certificate-file.ts"
import type { Random } from "../../kernel/crypto/random.ts"

const minuteMs = 60_000
const dayMs = 86_400_000

/**
 * A random number from 0 to 1, so that certificates requested on the same day are not all renewed
 * on the same day.
 */
const jitter = ({ bytes }: Random): number => Buffer.from(bytes(4)).readUInt32BE() / 2 ** 32

/**
 * When to renew: with a third of the lifetime left, and up to a thirtieth earlier. Times are in ms
 * since the epoch.
 */
export function renewalTimeOf(
  life: { readonly from: number; readonly ends: number },
  random: Random,
) {
  const whole = life.ends - life.from
  return Math.round(life.ends - whole / 3 - (jitter(random) * whole) / 30)
}

type RejectedRequest = {
  readonly host: string
  readonly by: string
  readonly said: string
  /** The wait time requested by the authority. */
  readonly waitMs: number
}

/**
 * The next attempt after a failure: after five minutes, doubling up to a day, or later if the
 * authority requires it. This makes four failures in the first hour; Let's Encrypt allows five.
 */
export function recordRenewalFailure(
  before: RenewalFailure | undefined,
  refused: RejectedRequest,
  { now, random }: { readonly now: number; readonly random: Random },
): RenewalFailure {
  const { host, by, said, waitMs } = refused
  const count = (before?.count ?? 0) + 1
  const usual = Math.min(5 * minuteMs * 2 ** Math.min(count - 1, 12), dayMs)
  const wait = Math.max(usual, waitMs) * (1 + jitter(random) / 10)
  return { host, by, count, said, next: Math.round(now + wait) }
}
