import type { Cx, Store } from "../store/index.ts"

/**
 * Wraps a query so that its answer is kept while nothing at all was written: everything that can
 * be read is a function of the log. `compute` must depend on nothing but the store.
 */
export function remembered<T>(compute: (cx: Cx) => T): (cx: Cx) => T {
  const stores = new WeakMap<Store, Map<string, { position: number; value: T }>>()
  return (cx) => {
    const known = stores.get(cx.store) ?? new Map<string, { position: number; value: T }>()
    stores.set(cx.store, known)
    const position = cx.store.log.changes()
    const entry = known.get(cx.instance)
    if (entry?.position === position) return entry.value
    const value = compute(cx)
    known.set(cx.instance, { position, value })
    return value
  }
}

/** Wraps a maker so that each instance of a store has one of what it makes, as long as it lives. */
export function ofInstance<T>(make: () => T): (cx: Cx) => T {
  const stores = new WeakMap<Store, Map<string, T>>()
  return (cx) => {
    const known = stores.get(cx.store) ?? new Map<string, T>()
    stores.set(cx.store, known)
    const one = known.get(cx.instance) ?? make()
    known.set(cx.instance, one)
    return one
  }
}
