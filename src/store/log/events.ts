import type { Call } from "../../kernel/context.ts"
import { deadlineExceededError } from "../../kernel/fault.ts"
import type { Reader } from "../search/reader.ts"
import type { EventFilter } from "./event-window.ts"
import type { Log, LogEvent } from "./log.ts"

export type EventQuery = EventFilter & {
  /** Only events before this position, or after it with `asc`; undefined for the first page. */
  readonly from?: number | undefined
  /** Oldest first; otherwise newest first. */
  readonly asc: boolean
  readonly limit: number
}

/**
 * Finds the matching events of an instance, including everything written before the call. Runs in
 * the reader thread, in turn with other searches.
 */
export async function searchEvents(
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
    if (cx.deadline !== undefined && cx.clock.now() >= cx.deadline) throw deadlineExceededError()
    const remaining = { limit: limit - found.length, asc, instance: cx.instance }
    const { positions, reached: scannedTo } = await reader.positions({
      ...filter,
      ...remaining,
      after,
      upTo,
    })
    found.push(...positions)
    if (asc) after = scannedTo
    else upTo = scannedTo
  }
  return log.at(found)
}
