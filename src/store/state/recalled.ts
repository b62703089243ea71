/**
 * Rows that are kept in memory: what nobody asked for lately goes first. Every request asks for
 * a dozen; one text made of a stream's three names would be made and hashed for each of them.
 */
export type Recalled<Row> = {
  readonly get: (instance: string, stream: string, id: string) => Row | undefined
  readonly set: (instance: string, stream: string, id: string, row: Row) => void
  readonly delete: (instance: string, stream: string, id: string) => void
}

type Half<Row> = { readonly streams: Map<string, Map<string, Map<string, Row>>>; size: number }

const emptyHalf = <Row>(): Half<Row> => ({ streams: new Map(), size: 0 })

/** Keeps at most `2 * max` rows, and at least the `max` that were used last. */
export function recalled<Row>(max: number): Recalled<Row> {
  let young = emptyHalf<Row>()
  let old = emptyHalf<Row>()
  const set: Recalled<Row>["set"] = (instance, stream, id, row) => {
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

function idsIn<Row>({ streams }: Half<Row>, stream: string, instance: string): Map<string, Row> {
  const instances = streams.get(stream) ?? new Map<string, Map<string, Row>>()
  if (instances.size === 0) streams.set(stream, instances)
  const ids = instances.get(instance) ?? new Map<string, Row>()
  if (ids.size === 0) instances.set(instance, ids)
  return ids
}
