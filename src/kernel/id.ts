import type { Clock } from "./clock.ts"

/** 2020-01-01. IDs have 18 decimal digits from 2023 until 2050, so that they sort as strings. */
const epoch = 1_577_836_800_000
const nodeCount = 256n
const perMillisecond = 4096n

/** Generates IDs: decimal strings of 18 digits, strictly increasing on one node. */
export type Ids = {
  readonly next: () => string
  /** The time in the newest ID, ms UTC; after a clock was set back, later than the current time. */
  readonly newest: () => number
}

/**
 * IDs of one node: milliseconds, then the node (0–255), then a counter. If the clock is set back,
 * the time of the last ID is reused until the clock has caught up. `floor` is the newest time
 * already used, so that a restart with a wrong clock doesn't repeat IDs.
 */
export function createIds(clock: Clock, node = 0, floor = 0): Ids {
  if (node < 0 || BigInt(node) >= nodeCount)
    throw new Error(`node must be from 0 to 255, not ${node}`)
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
