import type { Call } from "../context.ts"
import { Fault } from "../fault.ts"

type Stored = Call & { readonly store: { readonly log: { readonly durable: () => number } } }

const attemptsMax = 16

/**
 * Runs an update that reads first what it changes, again where somebody has changed that meanwhile.
 * Where the caller says what they have read, that decides instead.
 */
export async function onLatest<C extends Stored, T>(
  cx: C,
  update: (cx: C) => Promise<T>,
): Promise<T> {
  if (cx.expectedVersion !== undefined) return update(cx)
  for (let attempt = 1; ; attempt++) {
    const expectedVersion = cx.store.log.durable()
    try {
      return await update({ ...cx, expectedVersion })
    } catch (cause) {
      const isStale = cause instanceof Fault && cause.change !== undefined
      if (!isStale || attempt === attemptsMax) throw cause
    }
  }
}
