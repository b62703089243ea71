import type { Clock } from "./clock.ts"

/** 2020-01-01. Ids stay at 18 decimal digits from 2023 until 2050, so they sort as strings. */
const epoch = 1_577_836_800_000
const nodeCount = 256n
const perMillisecond = 4096n

/** Makes ids: decimal strings of 18 digits, strictly increasing on one node. */
export type Ids = {
  readonly next: () => string
  /** The time within the newest id, ms UTC: later than the clock's where that was set back. */
  readonly newest: () => number
}

/**
 * Ids of one node: milliseconds, then the node (0–255), then a counter. Ids never step back when
 * the clock does: time then stands still at the last id's until the clock has caught up.
 * `floor` is the newest time already used, so that a restart with a wrong clock repeats nothing.
 */
export function idsOf(clock: Clock, node = 0, floor = 0): Ids {
  if (node < 0 || BigInt(node) >= nodeCount) throw new Error(`node must be 0–255, not ${node}`)
  let time = BigInt(Math.max(clock.now(), floor + 1) - epoch)
  let counter = 0n
  return {
    newest: () => Number(time) + epoch,
    next: () => {
      const now = BigInt(clock.now() - epoch)
      if (now > time) {
        time = now
        counter = 0n
      } else if (++counter === perMillisecond) {
        time++
        counter = 0n
      }
      return ((time * nodeCount + BigInt(node)) * perMillisecond + counter).toString()
    },
  }
}
