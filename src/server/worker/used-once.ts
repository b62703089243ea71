import type { Clock } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Writer } from "../../store/index.ts"

/** In ms; no entry is valid for longer. */
const rotationMs = 90_000
/** Limits each process, so that one can't use all of the space. */
const entriesMaxPerProcess = 500_000

/**
 * Remembers used values for the given number of processes; the older half is dropped as a whole.
 * Throws if there is no space.
 */
export function createUsedOnce(
  { now }: Pick<Clock, "now">,
  processes: number,
  maxOfEach = entriesMaxPerProcess,
): Writer["spendOnce"] {
  let recent = new Map<string, number>()
  let old = new Map<string, number>()
  let turned = now()
  return async (value, until) => {
    const time = now()
    if (time - turned >= rotationMs) {
      old = recent
      recent = new Map()
      turned = time
    }
    const known = recent.get(value) ?? old.get(value)
    if (known !== undefined && time < known) return false
    if (recent.size >= processes * maxOfEach) throw fullError()
    recent.set(value, until)
    return true
  }
}

const fullError = () =>
  new Fault("unavailable", "worker.spent_full", "too many requests; try again")
