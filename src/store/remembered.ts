import type { Cx, Store } from "./store.ts"

/**
 * Wraps a query so that its answer is kept while nothing was written that it depends on: everything
 * that can be read is a function of the log. `compute` must depend on nothing but the store, and
 * where `streams` are named, on nothing but streams of these kinds and the claims they hold.
 */
export function remembered<T>(compute: (cx: Cx) => T, streams?: readonly string[]): (cx: Cx) => T {
  const stores = new WeakMap<Store, Map<string, { changes: number; value: T }>>()
  return (cx) => {
    const known = stores.get(cx.store) ?? new Map<string, { changes: number; value: T }>()
    stores.set(cx.store, known)
    const { log } = cx.store
    const changes = streams ? log.changesOf(streams) : log.changes()
    const entry = known.get(cx.instance)
    if (entry?.changes === changes) return entry.value
    const value = compute(cx)
    known.set(cx.instance, { changes, value })
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
