import type { Call } from "../context.ts"
import { Fault } from "../fault.ts"

type StoreContext = Call & { readonly store: { readonly log: { readonly durable: () => number } } }

const maxAttempts = 16

/**
 * Runs an update that first reads its resource, and repeats it after a concurrent change. With an
 * expected version from the caller, that version decides and nothing is repeated.
 */
export async function retryOnConflict<C extends StoreContext, T>(
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
      if (!isStale || attempt === maxAttempts) throw cause
    }
  }
}
