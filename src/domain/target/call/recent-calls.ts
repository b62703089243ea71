import type { Page, SearchResult } from "../../../kernel/page.ts"
import { type Cx, paginate, perInstance } from "../../../store/index.ts"

/** A call of a target, for its administrators. */
export type TargetCall = {
  readonly targetId: string
  /** The condition, which is the ID of the execution. */
  readonly condition: string
  /** The request or event that the call was part of. */
  readonly key: string
  /** When the call ended, in ms since the epoch. */
  readonly time: number
  readonly tookMs: number
  /** The status of the response; 0 without one. */
  readonly status: number
  /** The start of the response. */
  readonly answer: string
  /** Why the call failed; empty if it succeeded. */
  readonly error: string
  /** Whether the error was ignored although the target is set to interrupt. */
  readonly passedOver: boolean
}

/** `place` is a sequence number within the instance. */
export type RecordedCall = TargetCall & { readonly place: number }

/**
 * The number of calls kept per instance; the oldest are dropped. Kept only in memory because calls
 * can contain data about any user.
 */
const callsMax = 200
const answerMax = 1000

const callsOf = perInstance<RecordedCall[]>(() => [])

/** Records a call. */
export function recordCall(cx: Cx, call: Omit<TargetCall, "time">): void {
  const stored = callsOf(cx)
  const sequence = (stored.at(-1)?.place ?? 0) + 1
  stored.push({
    ...call,
    answer: call.answer.slice(0, answerMax),
    time: cx.clock.now(),
    place: sequence,
  })
  if (stored.length > callsMax) stored.shift()
}

/** The latest calls, newest first unless requested otherwise; optionally of one target. */
export function searchCalls(
  cx: Cx,
  { targetId, page }: { readonly targetId: string; readonly page: Page },
): SearchResult<RecordedCall> {
  const found = callsOf(cx).filter((call) => targetId === "" || call.targetId === targetId)
  return paginate(cx, found, {
    page,
    requested: ["calls", targetId],
    by: ({ place: sequence }) => [sequence],
  })
}
