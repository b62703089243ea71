/** A map of bounded size: what nobody asked for lately goes first. */
export type Lru<Value> = {
  readonly get: (key: string) => Value | undefined
  readonly set: (key: string, value: Value) => void
  readonly delete: (key: string) => void
}

/**
 * Keeps at most `2 * max` values, and at least the `max` that were used last. Two halves instead of
 * a list in order: what is used moves into the younger one, and the older one goes as a whole.
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
      const known = young.get(key)
      if (known !== undefined) return known
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
 * Wraps what is made of one object, so that it is made once for each: states, and what was read of
 * tokens, stay in memory, and every request asks the same of them. The object must not change.
 */
export function keptWith<Of extends object, Made>(make: (of: Of) => Made): (of: Of) => Made {
  const known = new WeakMap<Of, { readonly made: Made }>()
  return (of) => {
    const before = known.get(of)
    if (before) return before.made
    const made = make(of)
    known.set(of, { made })
    return made
  }
}
