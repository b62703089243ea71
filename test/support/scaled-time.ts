// The duration of work, scaled to an otherwise idle machine.
import { run } from "./latchkey.ts"

/** The maximum duration of `latchkey version` on an idle machine. */
const idleLoadMs = 100

/** Its current duration, which other processes increase. */
export async function measureLoadMs(): Promise<number> {
  const began = performance.now()
  await run(["version"])
  return performance.now() - began
}

/**
 * The result of work, and its duration without the slowdown by other processes: scaled by how much
 * an almost empty run is slowed down just before and just after.
 */
export async function measureTime<T>(
  work: () => Promise<T>,
): Promise<readonly [given: T, ms: number]> {
  const before = await measureLoadMs()
  const began = performance.now()
  const result = await work()
  const took = performance.now() - began
  return [result, took / Math.max(1, before / idleLoadMs, (await measureLoadMs()) / idleLoadMs)]
}
