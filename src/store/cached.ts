import type { Cx, Store } from "./store.ts"
import type { View } from "./view/view.ts"

/**
 * Caches a query's result per instance until an event is written that it depends on: everything
 * that can be read is a function of the log. `compute` must depend only on the store, and if
 * `streams` are given, only on streams of these kinds and their claims.
 */
export function cacheQuery<T>(compute: (cx: Cx) => T, streams?: readonly string[]): (cx: Cx) => T {
  type Results = Map<string, { changes: number; value: T }>
  const stores = new WeakMap<Store, Results>()
  const createResults = (store: Store) => {
    const cachedValues: Results = new Map()
    stores.set(store, cachedValues)
    return cachedValues
  }
  return (cx) => {
    const cachedValues = stores.get(cx.store) ?? createResults(cx.store)
    const { log } = cx.store
    const changes = streams ? log.changesOf(streams) : log.changes()
    const entry = cachedValues.get(cx.instance)
    if (entry?.changes === changes) return entry.value
    const value = compute(cx)
    cachedValues.set(cx.instance, { changes, value })
    return value
  }
}

/** Cached results of one store. */
type CachedResults<T> = { readonly changes: number; readonly values: Map<string, T> }
const maxCached = 1000

/**
 * Caches the results of a query of view rows by key until one of the views handles a new event.
 * Results are not cached while one of the views is being rebuilt.
 */
export function cacheQueryByKey<T>(
  compute: (cx: Cx, key: string) => T,
  ...views: readonly View[]
): (cx: Cx, key: string) => T {
  const stores = new WeakMap<Store, CachedResults<T>>()
  const names = new Set(views.map(({ name }) => name))
  const types = [...new Set(views.flatMap(({ reducers }) => [...reducers.keys()]))]
  return (cx, key) => {
    const { store, instance } = cx
    if (store.rebuilding().some((name) => names.has(name))) return compute(cx, key)
    const changes = store.log.changesOf(types)
    let results = stores.get(store)
    if (results?.changes !== changes || results.values.size >= maxCached) {
      results = { changes, values: new Map() }
      stores.set(store, results)
    }
    const cacheKey = `${instance}/${key}`
    const cachedValues = results.values.get(cacheKey)
    if (cachedValues !== undefined) return cachedValues
    const value = compute(cx, key)
    results.values.set(cacheKey, value)
    return value
  }
}

/** Creates one value per instance of a store on demand, for the store's lifetime. */
export function perInstance<T>(create: () => T): (cx: Cx) => T {
  const stores = new WeakMap<Store, Map<string, T>>()
  return (cx) => {
    const cachedValues = stores.get(cx.store) ?? new Map<string, T>()
    stores.set(cx.store, cachedValues)
    const one = cachedValues.get(cx.instance) ?? create()
    cachedValues.set(cx.instance, one)
    return one
  }
}
