import type { Clock } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Writer } from "../../store/index.ts"

/** ms; nothing that is kept here counts for longer. */
const turnEvery = 90_000
/** As many as a process keeps for itself: no address may have half of them at any. */
const usesMaxOfEach = 500_000

/**
 * Remembers for so many processes what was used; the older half is forgotten as a whole. Faults
 * where there is room for no more.
 */
export function spentOnce(
  { now }: Pick<Clock, "now">,
  processes: number,
  maxOfEach = usesMaxOfEach,
): Writer["spendOnce"] {
  let recent = new Map<string, number>()
  let old = new Map<string, number>()
  let turned = now()
  return async (what, until) => {
    const time = now()
    if (time - turned >= turnEvery) {
      old = recent
      recent = new Map()
      turned = time
    }
    const known = recent.get(what) ?? old.get(what)
    if (known !== undefined && time < known) return false
    if (recent.size >= processes * maxOfEach) throw fullError()
    recent.set(what, until)
    return true
  }
}

const fullError = () =>
  new Fault("unavailable", "worker.spent_full", "too many requests; try again")
