import type { Cx } from "../../../store/index.ts"
import { runChain } from "../call/chain.ts"
import type { FunctionName } from "../condition.ts"
import { planOf } from "../view.ts"

/** Whether targets are asked where something is put together. */
export function hasFunction(cx: Cx, name: FunctionName): boolean {
  const plan = planOf(cx)
  return plan.size > 0 && plan.has(`function/${name}`)
}

export type Asking = {
  readonly payload: () => object
  /**
   * Takes what a target has answered, whose authors are these users; a Fault where that can't be
   * taken.
   */
  readonly take: (text: string, authors: readonly string[]) => void
  /** Whether it goes on whatever fails: who mends targets is never kept out by one. */
  readonly isLenient: () => boolean
}

/** Who signs in waits no longer than that for what must not keep them out. */
const courtesyMs = 3000

/**
 * Asks the targets of a function, one after the other. Faults where one fails that ends it: with
 * `target.refused` in its own words, or with `target.failed`.
 */
export async function askTargets(cx: Cx, name: FunctionName, asking: Asking): Promise<void> {
  const condition = `function/${name}`
  const { payload, take, isLenient } = asking
  await runChain(cx, planOf(cx).get(condition) ?? [], undefined, {
    condition,
    key: cx.requestId,
    payload: () => ({ function: condition, ...payload() }),
    read: (text, _, authors) => void take(text, authors),
    ...(isLenient() && ({ ends: "nothing", waitMs: courtesyMs } as const)),
  })
}
