import { setImmediate } from "node:timers/promises"

const batchSize = 500

/** Runs hash rounds in batches and yields to the event loop in between. */
export async function runRounds(
  count: number,
  first: Buffer,
  next: (before: Buffer, round: number) => Buffer,
): Promise<Buffer> {
  let last = first
  for (let round = 0; round < count; round++) {
    last = next(last, round)
    if (round % batchSize === batchSize - 1) await setImmediate()
  }
  return last
}
