import type { Clock } from "./clock.ts"
import { boundedUntil } from "./clock.ts"
import { Fault } from "./fault.ts"
import { isLocal, isLoopback, networksOf } from "./net/address.ts"

/**
 * What one address may cost without having proven anything: so often a minute, and so often at
 * once. Whatever comes to a good end is given back, so that a whole team behind one address never
 * meets these.
 */
export const budgets = {
  /** Something that waits for a person: each is an event until they have signed in. */
  request: { perMinute: 600, atOnce: 300, of: "requests to sign in" },
  /** A guess at what a person types: passwords, codes. Checking one may cost a lot. */
  guess: { perMinute: 60, atOnce: 300, of: "failed tries" },
  /** A message to somebody who may not have asked for it; none is given back. */
  message: { perMinute: 6, atOnce: 30, of: "messages asked for" },
  /** An application that registers itself; none is given back. */
  registration: { perMinute: 6, atOnce: 30, of: "registrations of applications" },
  /** A client that could not prove which one it is. */
  client: { perMinute: 600, atOnce: 300, of: "failed authentications of clients" },
} as const

export type Budget = keyof typeof budgets

/** What the address that a call comes from may still cost. */
export type Allowance = {
  /** Spends one of a budget. Faults where nothing is left, saying when there will be. */
  readonly spend: (budget: Budget) => void
  /** Gives one back: what it was spent on came to a good end. */
  readonly refund: (budget: Budget) => void
  /** The address as it is counted; undefined where it may be that of many people. */
  readonly source: () => string | undefined
  /**
   * Begins a try that may fail. What it answers resolves when a failure may be told: whatever was
   * looked at, and however long that took, failures are told at the same pace, and not before
   * `leastMs` from the beginning.
   */
  readonly pace: () => (leastMs?: number) => Promise<void>
  /** What another address may cost, for which whoever calls is trusted to speak; absent where all
   * count together. */
  readonly behalf?: (address: string) => Allowance
}

/** Where a call comes from. */
export type Sender = {
  readonly address: string
  /** Whether it says that it speaks for others, and is no proxy that is trusted. */
  readonly isRelayed?: boolean
}

export type Limits = (sender: Sender) => Allowance

/**
 * Whether an address is that of many people: programs of this machine, and whoever comes through a
 * proxy on it or beside it that nobody told us of. Elsewhere anybody may claim to be a proxy.
 */
const isShared = ({ address, isRelayed }: Required<Sender>) =>
  isLoopback(address) || (isRelayed && isLocal(address))

/** Tells how a sender is counted; one request asks more than once, and so the last is kept. */
function countedBy() {
  let last: { readonly sender: Required<Sender>; readonly counted: Counted } | undefined
  return ({ address, isRelayed = false }: Sender): Counted => {
    if (last?.sender.address !== address || last.sender.isRelayed !== isRelayed) {
      const sender = { address, isRelayed }
      last = { sender, counted: { networks: networksOf(address), isShared: isShared(sender) } }
    }
    return last.counted
  }
}

/** `networks`: the narrowest first. */
type Counted = { readonly networks: readonly string[]; readonly isShared: boolean }

/** How many times the usual budgets such an address has. */
const sharedFactor = 10

/** How many times the budgets of a /64 its /56 has, and of that its /48. */
const widerFactor = 4

const minute = 60_000

/** Several times what looking at a password takes, also at the dearest that may be imported. */
export const paceMs = 500

/**
 * Limits by address, in memory: each budget is a bucket that fills up again evenly. `factor` widens
 * or narrows all of them, `Infinity` lifts them. What is kept is the time at which a bucket will be
 * full; a full one needs no place, and of too many the one that rested longest is forgotten.
 */
export function limitsOf(clock: Clock, factor: number, placesMax = 20_000): Limits {
  const fullAt = new Map<string, number>()
  const countedOf = countedBy()

  const keep = (key: string, time: number) => {
    // Last in the order of the map: the first is the one that rested longest.
    fullAt.delete(key)
    if (time <= clock.now()) return
    fullAt.set(key, time)
    const [oldest = ""] = fullAt.keys()
    if (fullAt.size > placesMax) fullAt.delete(oldest)
  }

  const allowanceOf: Limits = (sender) => {
    const bucketsOf = (budget: Budget) => {
      const { perMinute, atOnce } = budgets[budget]
      const { networks, isShared: hasMany } = countedOf(sender)
      return networks.map((network, at) => ({
        key: `${budget} ${network}`,
        /** The time that one costs, and the time that an empty bucket takes to be full. */
        cost: minute / perMinute / (factor * (hasMany ? sharedFactor : 1) * widerFactor ** at),
        depth: (minute * atOnce) / perMinute,
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
        for (const { key, before, after } of spent) keep(key, late > 0 ? before : after)
        if (late > 0) throw exhaustedError(budget, Math.ceil(late / 1000))
      },
      refund: (budget) => {
        for (const { key, cost } of bucketsOf(budget)) {
          const before = fullAt.get(key)
          if (before !== undefined) keep(key, before - cost)
        }
      },
      source: () => {
        const { networks, isShared: hasMany } = countedOf(sender)
        return hasMany ? undefined : networks[0]
      },
      pace: () => {
        const from = clock.now()
        return (leastMs = 0) => {
          const spent = Math.max(clock.now() - from, 0)
          const until = Math.max(spent, leastMs)
          const toldMs = until - (until % paceMs) + paceMs
          return new Promise((resolve) => clock.after(toldMs - spent, resolve))
        }
      },
      behalf: (address) => allowanceOf({ address }),
    }
  }
  return allowanceOf
}

function exhaustedError(budget: Budget, seconds: number): Fault {
  const said = `too many ${budgets[budget].of} came from this address; try again in ${seconds} s`
  return new Fault("resource_exhausted", `limit.${budget}`, said, { retryAfterSeconds: seconds })
}
