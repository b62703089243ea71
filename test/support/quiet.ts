// How long something takes on a machine that has nothing else to do.
import { run } from "./latchkey.ts"

/** What the program takes to say its version there, at most. */
const quietLoadMs = 100

/** How long it takes at the moment: what others on the machine make of nearly nothing. */
export async function loadMs(): Promise<number> {
  const began = performance.now()
  await run(["version"])
  return performance.now() - began
}

/**
 * What work gives, and how long it took, less what others on the machine slowed it down: by as much
 * as they slow the program down while it does nearly nothing, just before and just after.
 */
export async function timed<T>(work: () => Promise<T>): Promise<readonly [given: T, ms: number]> {
  const before = await loadMs()
  const began = performance.now()
  const given = await work()
  const took = performance.now() - began
  return [given, took / Math.max(1, before / quietLoadMs, (await loadMs()) / quietLoadMs)]
}
