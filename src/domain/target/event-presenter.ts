import {
  hasParent,
  type PresentedEvent,
  presentEvent,
  type StoredEvent,
} from "../../kernel/event/subject.ts"
import type { Cx } from "../../store/index.ts"

/**
 * Converts stored events to the aggregates and types of the API. The parent of an application,
 * grant or membership is read from the first event of its stream, once per stream.
 */
export function createPresenter(cx: Cx): (event: StoredEvent) => Promise<PresentedEvent> {
  const read = new Map<string, Promise<object | undefined>>()
  const firstOf = async ({ instance, stream, id }: StoredEvent) => {
    const window = { instance, stream, id, asc: true, limit: 1 }
    const [first] = await cx.store.log.history(window)
    return first?.data
  }
  return async (event) => {
    if (!hasParent(event)) return presentEvent(event)
    const key = JSON.stringify([event.instance, event.stream, event.id])
    const first = read.get(key) ?? firstOf(event)
    read.set(key, first)
    return presentEvent(event, await first)
  }
}
