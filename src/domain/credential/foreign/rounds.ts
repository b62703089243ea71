import { setImmediate } from "node:timers/promises"

const atOnce = 500

/**
 * Hashes again and again, and lets everybody else have their turn in between: a sum is a matter of
 * microseconds, all of them are not.
 */
export async function inRounds(
  count: number,
  first: Buffer,
  next: (before: Buffer, round: number) => Buffer,
): Promise<Buffer> {
  let last = first
  for (let round = 0; round < count; round++) {
    last = next(last, round)
    if (round % atOnce === atOnce - 1) await setImmediate()
  }
  return last
}
