/**
 * An in-memory cache that drops the least recently used rows. Every request reads a dozen; nested
 * maps avoid building and hashing a combined key for each of them.
 */
export type RowCache<Row> = {
  readonly get: (instance: string, stream: string, id: string) => Row | undefined
  readonly set: (instance: string, stream: string, id: string, row: Row) => void
  readonly delete: (instance: string, stream: string, id: string) => void
}

type CacheGeneration<Row> = {
  readonly streams: Map<string, Map<string, Map<string, Row>>>
  size: number
}

const createGeneration = <Row>(): CacheGeneration<Row> => ({ streams: new Map(), size: 0 })

/** Contains at most `2 * max` rows, and always the `max` most recently used ones. */
export function createRowCache<Row>(max: number): RowCache<Row> {
  let current = createGeneration<Row>()
  let previous = createGeneration<Row>()
  const set: RowCache<Row>["set"] = (instance, stream, id, row) => {
    if (current.size >= max) {
      previous = current
      current = createGeneration()
    }
    const ids = ensureIds(current, stream, instance)
    if (!ids.has(id)) current.size += 1
    ids.set(id, row)
  }
  return {
    get: (instance, stream, id) => {
      const recent = current.streams.get(stream)?.get(instance)?.get(id)
      if (recent !== undefined) return recent
      const before = previous.streams.get(stream)?.get(instance)?.get(id)
      if (before !== undefined) set(instance, stream, id, before)
      return before
    },
    set,
    delete: (instance, stream, id) => {
      if (current.streams.get(stream)?.get(instance)?.delete(id)) current.size -= 1
      if (previous.streams.get(stream)?.get(instance)?.delete(id)) previous.size -= 1
    },
  }
}

function ensureIds<Row>(
  { streams }: CacheGeneration<Row>,
  stream: string,
  instance: string,
): Map<string, Row> {
  const instances = streams.get(stream) ?? new Map<string, Map<string, Row>>()
  if (instances.size === 0) streams.set(stream, instances)
  const ids = instances.get(instance) ?? new Map<string, Row>()
  if (ids.size === 0) instances.set(instance, ids)
  return ids
}
