import type { Clock } from "./clock.ts"
import { boundedUntil } from "./clock.ts"
import { Fault } from "./fault.ts"
import { isLocalNetwork, isLoopback, networksOf } from "./net/address.ts"

/**
 * Rate limits for one unauthenticated address: per minute, and in a burst. Successful attempts are
 * refunded, so that a team behind one address never reaches these limits.
 */
export const budgets = {
  /** A pending sign-in: each writes an event until the user has signed in. */
  request: { perMinute: 600, atOnce: 300, of: "requests to sign in" },
  /** A guess at a password or code. Checking one can be expensive. */
  guess: { perMinute: 60, atOnce: 300, of: "failed tries" },
  /** A message to a user who may not have requested it; never refunded. */
  message: { perMinute: 6, atOnce: 30, of: "requested messages" },
  /** An application that registers itself; never refunded. */
  registration: { perMinute: 6, atOnce: 30, of: "registrations of applications" },
  /** A failed client authentication. */
  client: { perMinute: 600, atOnce: 300, of: "failed authentications of clients" },
} as const

export type Budget = keyof typeof budgets

/** The remaining budgets of the address that a call comes from. */
export type Allowance = {
  /** Spends one unit of a budget. Throws if it is exhausted, with the time to retry. */
  readonly spend: (budget: Budget) => void
  /** Refunds one unit after success. */
  readonly refund: (budget: Budget) => void
  /** The address as counted; undefined if many users may share it. */
  readonly source: () => string | undefined
  /**
   * Starts an attempt that can fail. The returned function resolves when the failure may be
   * reported: after a multiple of `paceMs`, and at least `leastMs`, so that the duration reveals
   * nothing about the reason.
   */
  readonly pace: () => (minMs?: number) => Promise<void>
  /**
   * The budgets of another address that a trusted caller reports; absent if all share one budget.
   */
  readonly forAddress?: (address: string) => Allowance
}

/** The sender of a call. */
export type Sender = {
  readonly address: string
  /** Whether it claims to be a proxy without being trusted. */
  readonly isRelayed?: boolean
}

export type Limits = (sender: Sender) => Allowance

/**
 * Whether many users may share an address: local programs, and clients of an unconfigured proxy on
 * this machine or network. Elsewhere anyone could claim to be a proxy.
 */
const isSharedAddress = ({ address, isRelayed }: Required<Sender>) =>
  isLoopback(address) || (isRelayed && isLocalNetwork(address))

/**
 * Returns how a sender is counted; caches the last result, because one request needs it several
 * times.
 */
function createCounter() {
  let last: { readonly sender: Required<Sender>; readonly counted: CountedSender } | undefined
  return ({ address, isRelayed = false }: Sender): CountedSender => {
    if (last?.sender.address !== address || last.sender.isRelayed !== isRelayed) {
      const sender = { address, isRelayed }
      last = {
        sender,
        counted: { networks: networksOf(address), isShared: isSharedAddress(sender) },
      }
    }
    return last.counted
  }
}

/** `networks` starts with the narrowest. */
type CountedSender = { readonly networks: readonly string[]; readonly isShared: boolean }

/** Multiplier for the budgets of a shared address. */
const sharedFactor = 10

/** Multiplier from the budgets of a /64 to its /56, and from there to its /48. */
const widerFactor = 4

const minuteMs = 60_000

/** Several times the duration of the most expensive password hash that can be imported. */
export const paceMs = 500

/**
 * Rate limits by address, in memory: each budget is a bucket that refills at a constant rate.
 * `factor` scales all of them, `Infinity` disables them. Stores the time at which a bucket is full;
 * full buckets are not stored, and the least recently used one is dropped when there are too many.
 */
export function createLimits(clock: Clock, factor: number, maxBuckets = 20_000): Limits {
  const fullAt = new Map<string, number>()
  const countSender = createCounter()

  const setFullAt = (key: string, time: number) => {
    // Moves the key to the end of the map; the first key is the least recently used.
    fullAt.delete(key)
    if (time <= clock.now()) return
    fullAt.set(key, time)
    const [oldest = ""] = fullAt.keys()
    if (fullAt.size > maxBuckets) fullAt.delete(oldest)
  }

  const allowanceOf: Limits = (sender) => {
    const bucketsOf = (budget: Budget) => {
      const { perMinute, atOnce } = budgets[budget]
      const { networks, isShared: isSharedSender } = countSender(sender)
      return networks.map((network, at) => ({
        key: `${budget} ${network}`,
        /** The refill time of one unit, and of an empty bucket. */
        cost:
          minuteMs / perMinute / (factor * (isSharedSender ? sharedFactor : 1) * widerFactor ** at),
        depth: (minuteMs * atOnce) / perMinute,
      }))
    }
    return {
      spend: (budget) => {
        const now = clock.now()
        const spent = bucketsOf(budget).map(({ key, cost, depth }) => {
          const before = boundedUntil(fullAt.get(key) ?? now, depth, now)
          return { key, before, after: before + cost, late: before + cost - (now + depth) }
        })
        const late = Math.max(...spent.map((each) => each.late))
        for (const { key, before, after } of spent) setFullAt(key, late > 0 ? before : after)
        if (late > 0) throw exhaustedError(budget, Math.ceil(late / 1000))
      },
      refund: (budget) => {
        for (const { key, cost } of bucketsOf(budget)) {
          const before = fullAt.get(key)
          if (before !== undefined) setFullAt(key, before - cost)
        }
      },
      source: () => {
        const { networks, isShared: isSharedSender } = countSender(sender)
        return isSharedSender ? undefined : networks[0]
      },
      pace: () => {
        const startedAt = clock.now()
        return (minMs = 0) => {
          const spent = Math.max(clock.now() - startedAt, 0)
          const until = Math.max(spent, minMs)
          const reportMs = until - (until % paceMs) + paceMs
          return new Promise((resolve) => clock.after(reportMs - spent, resolve))
        }
      },
      forAddress: (address) => allowanceOf({ address }),
    }
  }
  return allowanceOf
}

function exhaustedError(budget: Budget, seconds: number): Fault {
  const message = `too many ${budgets[budget].of} from this address; try again in ${seconds} s`
  return new Fault("resource_exhausted", `limit.${budget}`, message, { retryAfterSeconds: seconds })
}
