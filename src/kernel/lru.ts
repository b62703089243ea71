/** A map of bounded size that drops the least recently used entries. */
export type Lru<Value> = {
  readonly get: (key: string) => Value | undefined
  readonly set: (key: string, value: Value) => void
  readonly delete: (key: string) => void
}

/**
 * Contains at most `2 * max` values, and always the `max` most recently used ones. Uses two
 * generations instead of an ordered list: used entries move to the young one, and the old one is
 * dropped as a whole.
 */
export function lru<Value>(max: number): Lru<Value> {
  let young = new Map<string, Value>()
  let old = new Map<string, Value>()
  const set = (key: string, value: Value) => {
    if (young.size >= max && !young.has(key)) {
      old = young
      young = new Map()
    }
    young.set(key, value)
  }
  return {
    get: (key) => {
      const cachedValues = young.get(key)
      if (cachedValues !== undefined) return cachedValues
      const before = old.get(key)
      if (before !== undefined) set(key, before)
      return before
    },
    set,
    delete: (key) => {
      young.delete(key)
      old.delete(key)
    },
  }
}

/**
 * Memoizes a function by object identity: states and parsed tokens stay in memory, and every
 * request needs the same values derived from them. The object must not change.
 */
export function memoizeByObject<Source extends object, Derived>(
  derive: (source: Source) => Derived,
): (source: Source) => Derived {
  const cachedValues = new WeakMap<Source, { readonly made: Derived }>()
  return (source) => {
    const before = cachedValues.get(source)
    if (before) return before.made
    const derived = derive(source)
    cachedValues.set(source, { made: derived })
    return derived
  }
}
