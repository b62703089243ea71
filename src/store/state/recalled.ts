import type { StateRow } from "./state.ts"

/**
 * Rows that are kept in memory: what nobody asked for lately goes first. Every request asks for
 * a dozen; one text made of a stream's three names would be made and hashed for each of them.
 */
export type Recalled = {
  readonly get: (instance: string, stream: string, id: string) => StateRow | undefined
  readonly set: (instance: string, stream: string, id: string, row: StateRow) => void
  readonly delete: (instance: string, stream: string, id: string) => void
}

type Half = { readonly streams: Map<string, Map<string, Map<string, StateRow>>>; size: number }

const emptyHalf = (): Half => ({ streams: new Map(), size: 0 })

/** Keeps at most `2 * max` rows, and at least the `max` that were used last. */
export function recalled(max: number): Recalled {
  let young = emptyHalf()
  let old = emptyHalf()
  const set: Recalled["set"] = (instance, stream, id, row) => {
    if (young.size >= max) {
      old = young
      young = emptyHalf()
    }
    const ids = idsIn(young, stream, instance)
    if (!ids.has(id)) young.size += 1
    ids.set(id, row)
  }
  return {
    get: (instance, stream, id) => {
      const known = young.streams.get(stream)?.get(instance)?.get(id)
      if (known !== undefined) return known
      const before = old.streams.get(stream)?.get(instance)?.get(id)
      if (before !== undefined) set(instance, stream, id, before)
      return before
    },
    set,
    delete: (instance, stream, id) => {
      if (young.streams.get(stream)?.get(instance)?.delete(id)) young.size -= 1
      if (old.streams.get(stream)?.get(instance)?.delete(id)) old.size -= 1
    },
  }
}

function idsIn({ streams }: Half, stream: string, instance: string): Map<string, StateRow> {
  const instances = streams.get(stream) ?? new Map<string, Map<string, StateRow>>()
  if (instances.size === 0) streams.set(stream, instances)
  const ids = instances.get(instance) ?? new Map<string, StateRow>()
  if (ids.size === 0) instances.set(instance, ids)
  return ids
}
