import { isPart, type Presented, present, type StoredEvent } from "../../kernel/event/subject.ts"
import type { Cx } from "../../store/index.ts"

/**
 * Presents stored events under the aggregates and types of the interface. What an application, a
 * grant or a membership is part of is named by the first event of its stream, read once for each.
 */
export function presenterOf(cx: Cx): (event: StoredEvent) => Promise<Presented> {
  const read = new Map<string, Promise<object | undefined>>()
  const firstOf = async ({ instance, stream, id }: StoredEvent) => {
    const window = { instance, stream, id, asc: true, limit: 1 }
    const [first] = await cx.store.log.history(window)
    return first?.data
  }
  return async (event) => {
    if (!isPart(event)) return present(event)
    const key = JSON.stringify([event.instance, event.stream, event.id])
    const first = read.get(key) ?? firstOf(event)
    read.set(key, first)
    return present(event, await first)
  }
}
