import type { Call } from "../../kernel/context.ts"
import { lateError } from "../../kernel/fault.ts"
import type { Reader } from "../search/reader.ts"
import type { EventFilter } from "./event-window.ts"
import type { Log, LogEvent } from "./log.ts"

export type EventQuery = EventFilter & {
  /** Only what comes before this position, or after it where `asc`; undefined: the first part. */
  readonly from?: number | undefined
  /** The oldest first; else the newest. */
  readonly asc: boolean
  readonly limit: number
}

/**
 * What happened on an instance and is like that; all that was written before this call is looked
 * at, in the reader thread, where searches of others have their turn in between.
 */
export async function eventsOf(
  { log, reader }: { readonly log: Log; readonly reader: Reader },
  cx: Pick<Call, "instance" | "clock" | "deadline">,
  { from, limit, asc, ...filter }: EventQuery,
): Promise<readonly LogEvent[]> {
  await log.settle()
  const end = log.durable()
  let after = asc ? (from ?? 0) : 0
  let upTo = asc ? end : Math.min(end, (from ?? end + 1) - 1)
  const found: number[] = []
  while (after < upTo && found.length < limit) {
    if (cx.deadline !== undefined && cx.clock.now() >= cx.deadline) throw lateError()
    const left = { limit: limit - found.length, asc, instance: cx.instance }
    const { positions, reached } = await reader.positions({ ...filter, ...left, after, upTo })
    found.push(...positions)
    if (asc) after = reached
    else upTo = reached
  }
  return log.at(found)
}
