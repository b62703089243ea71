import type { Found, Page } from "../../../kernel/page.ts"
import { type Cx, ofInstance, windowOf } from "../../../store/index.ts"

/** One call of a target, for who has set it up. */
export type TargetCall = {
  readonly targetId: string
  /** What it was called at, the id of an execution. */
  readonly condition: string
  /** What it was a part of: a request, or an event. */
  readonly key: string
  /** When it had ended, ms UTC. */
  readonly time: number
  readonly tookMs: number
  /** Of its answer, 0 without one. */
  readonly status: number
  /** Where its answer begins. */
  readonly answer: string
  /** Why it failed; empty where it did not. */
  readonly error: string
  /** Whether what it failed at went on although it was to end there. */
  readonly passedOver: boolean
}

/** `place` counts those of the instance. */
export type Kept = TargetCall & { readonly place: number }

/** Of one instance; the oldest go first. Nothing of it is on disk: it may be about anybody. */
const keptMax = 200
const answerMax = 1000

const callsOf = ofInstance<Kept[]>(() => [])

/** Keeps how a call has gone. */
export function noteCall(cx: Cx, call: Omit<TargetCall, "time">): void {
  const kept = callsOf(cx)
  const place = (kept.at(-1)?.place ?? 0) + 1
  kept.push({ ...call, answer: call.answer.slice(0, answerMax), time: cx.clock.now(), place })
  if (kept.length > keptMax) kept.shift()
}

/** The latest calls, newest first unless requested; of one target where it is named. */
export function searchCalls(
  cx: Cx,
  { targetId, page }: { readonly targetId: string; readonly page: Page },
): Found<Kept> {
  const found = callsOf(cx).filter((call) => targetId === "" || call.targetId === targetId)
  return windowOf(cx, found, { page, requested: ["calls", targetId], by: ({ place }) => [place] })
}
