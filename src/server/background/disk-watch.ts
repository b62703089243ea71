import type { Clock } from "../../kernel/clock.ts"
import type { Fault } from "../../kernel/fault.ts"
import type { Store } from "../../store/index.ts"
import type { Readiness } from "./readiness.ts"

const what = { passing: "the disk", lasting: "the database" } as const
const firstMs = 250
const lastMs = 5000

type Parts = Readiness & { readonly clock: Clock; readonly store: () => Store }

/**
 * Told of a trouble with the disk, makes the node not ready, and tries to write until that works
 * again. Damage stays until the next start: what was read wrongly once is not whole.
 */
export function diskWatch({ broke, mended, clock, store }: Parts): (fault: Fault) => void {
  let isTrying = false
  const again = (ms: number) => {
    isTrying = true
    clock.after(ms, () => void attempt(ms))
  }
  const attempt = async (ms: number) => {
    try {
      await store().probe()
      isTrying = false
      mended(what.passing)
    } catch (cause) {
      broke(what.passing, cause)
      again(Math.min(ms * 2, lastMs))
    }
  }
  return (fault) => {
    if (fault.code === "data_loss") return broke(what.lasting, fault)
    broke(what.passing, fault)
    if (!isTrying) again(firstMs)
  }
}
