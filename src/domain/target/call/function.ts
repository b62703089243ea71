import type { Cx } from "../../../store/index.ts"
import type { FunctionName } from "../condition.ts"
import { targetsByCondition } from "../view.ts"
import { runChain } from "./chain.ts"

/** Whether targets are set for the function. */
export function hasFunction(cx: Cx, name: FunctionName): boolean {
  const plan = targetsByCondition(cx)
  return plan.size > 0 && plan.has(`function/${name}`)
}

export type FunctionCall = {
  readonly payload: () => object
  /** Applies the response of a target with these authors; throws if it is not allowed. */
  readonly applyResponse: (text: string, authors: readonly string[]) => void
  /**
   * Whether errors are ignored, because a user who can edit targets must never be locked out by
   * one.
   */
  readonly ignoresErrors: () => boolean
}

/** How long a sign-in waits for a target whose errors are ignored. */
const optionalWaitMs = 3000

/**
 * Calls the targets of a function in order. Throws if a target fails that interrupts:
 * `target.refused` with its own message, or `target.failed`.
 */
export async function askTargets(cx: Cx, name: FunctionName, asking: FunctionCall): Promise<void> {
  const condition = `function/${name}`
  const { payload, applyResponse, ignoresErrors } = asking
  await runChain(cx, targetsByCondition(cx).get(condition) ?? [], undefined, {
    condition,
    key: cx.requestId,
    payload: () => ({ function: condition, ...payload() }),
    applyResponse: (text, _, authors) => void applyResponse(text, authors),
    ...(ignoresErrors() && ({ endingErrors: "nothing", waitMs: optionalWaitMs } as const)),
  })
}
