import type { Cx, Store } from "./store.ts"
import type { View } from "./view/view.ts"

/**
 * Wraps a query so that its answer is kept while nothing was written that it depends on: everything
 * that can be read is a function of the log. `compute` must depend on nothing but the store, and
 * where `streams` are named, on nothing but streams of these kinds and the claims they hold.
 */
export function cached<T>(compute: (cx: Cx) => T, streams?: readonly string[]): (cx: Cx) => T {
  type Known = Map<string, { changes: number; value: T }>
  const stores = new WeakMap<Store, Known>()
  const begun = (store: Store) => {
    const known: Known = new Map()
    stores.set(store, known)
    return known
  }
  return (cx) => {
    const known = stores.get(cx.store) ?? begun(cx.store)
    const { log } = cx.store
    const changes = streams ? log.changesOf(streams) : log.changes()
    const entry = known.get(cx.instance)
    if (entry?.changes === changes) return entry.value
    const value = compute(cx)
    known.set(cx.instance, { changes, value })
    return value
  }
}

/** Answers of one store that are kept. */
type Kept<T> = { readonly changes: number; readonly values: Map<string, T> }
const keptMax = 1000

/**
 * Wraps a query of views' rows by one key so that its answers are kept, while no event was written
 * that one of the views has a reducer for, and none of them is being rebuilt.
 */
export function cachedBy<T>(
  compute: (cx: Cx, key: string) => T,
  ...views: readonly View[]
): (cx: Cx, key: string) => T {
  const stores = new WeakMap<Store, Kept<T>>()
  const names = new Set(views.map(({ name }) => name))
  const types = [...new Set(views.flatMap(({ reducers }) => [...reducers.keys()]))]
  return (cx, key) => {
    const { store, instance } = cx
    if (store.rebuilding().some((name) => names.has(name))) return compute(cx, key)
    const changes = store.log.changesOf(types)
    let kept = stores.get(store)
    if (kept?.changes !== changes || kept.values.size >= keptMax) {
      kept = { changes, values: new Map() }
      stores.set(store, kept)
    }
    const full = `${instance}/${key}`
    const known = kept.values.get(full)
    if (known !== undefined) return known
    const value = compute(cx, key)
    kept.values.set(full, value)
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
