import { errorText, Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { kindOf } from "../condition.ts"
import { target } from "../model.ts"
import { authorsAt } from "../view.ts"
import { callTarget, statusText, type TargetResponse } from "./call.ts"
import { recordCall } from "./recent-calls.ts"
import { parseRejection } from "./rejection.ts"

export type TargetChain<T> = {
  /** The condition, which is the ID of the execution. */
  readonly condition: string
  /** Identifies the request or event; the same for all attempts. */
  readonly key: string
  /** The payload, including the changes of previous targets. */
  readonly payload: (now: T) => object
  /** Applies the response of a target; returns the same value if nothing changes. Can throw. */
  readonly applyResponse?: (text: string, now: T, authors: readonly string[]) => T
  /** Which errors of an interrupting target end the chain; by default all failures. */
  readonly endingErrors?: EndingErrors
  /** The time limit per target; by default that of the target. */
  readonly waitMs?: number | undefined
}

/** A rejection is deliberate: it can end the chain even where failures are ignored. */
export type EndingErrors = "failures" | "refusals" | "nothing"

export type ChainResult<T> = {
  readonly value: T
  /** The targets that changed the value, and the users who are responsible for the changes. */
  readonly changedBy: readonly string[]
  readonly authors: readonly string[]
  /** Interrupting targets whose errors were ignored. */
  readonly skippedTargets: readonly string[]
  /** Running calls that nothing waits for. */
  readonly unawaited: readonly Promise<void>[]
  /** The errors of targets that did not end the chain. */
  readonly errors: readonly string[]
}

/**
 * Calls targets in order. Throws if an interrupting target fails: with the message it forwards, or
 * with `target.failed`, whose reason is only in the list of calls.
 */
export async function runChain<T>(
  cx: Cx,
  ids: readonly string[],
  first: T,
  chain: TargetChain<T>,
): Promise<ChainResult<T>> {
  let value = first
  const skippedTargets: string[] = []
  const changedBy: string[] = []
  const deciding: string[] = []
  // A user who changes an execution during its calls is not responsible for targets called before.
  const planned = new Map(ids.map((id) => [id, authorsAt(cx, chain.condition, id)]))
  const errors: string[] = []
  const unawaited: Promise<void>[] = []
  for (const id of ids) {
    const { targetType, interruptOnError, name } = cx.store.state(cx, target, id)
    // An event has already happened and can't be interrupted.
    const interrupts = interruptOnError && kindOf(chain.condition) !== "event"
    const callInput = { id, chain, payload: chain.payload(value), interrupts }
    if (targetType === "async") {
      unawaited.push(callAndRecord(cx, callInput).then(() => undefined))
      continue
    }
    const applyResponse = targetType === "call" ? chain.applyResponse : undefined
    const now = value
    const authors = [...(planned.get(id) ?? []), ...authorsAt(cx, chain.condition, id)]
    const callResult = await callAndRecord(
      cx,
      callInput,
      applyResponse && ((text) => applyResponse(text, now, authors)),
    )
    if (callResult.ok) {
      if (callResult.value !== undefined && callResult.value !== now) {
        changedBy.push(id)
        deciding.push(...authors)
        value = callResult.value
      }
    } else if (interrupts && endsChain(chain.endingErrors, callResult.cause))
      throw failureOf(callResult.cause, name)
    else {
      errors.push(`${name}: ${messageOf(callResult.cause)}`)
      if (interrupts) skippedTargets.push(id)
    }
  }
  return { value, changedBy, authors: [...new Set(deciding)], skippedTargets, unawaited, errors }
}

type ChainCall = {
  readonly id: string
  readonly chain: Pick<TargetChain<never>, "condition" | "key" | "endingErrors" | "waitMs">
  readonly payload: object
  readonly interrupts: boolean
}

type CallResult<T> =
  | { readonly ok: true; readonly value: T | undefined }
  | { readonly ok: false; readonly cause: unknown }

/** Calls one target and records the call; errors are part of the result. */
async function callAndRecord<T>(
  cx: Cx,
  callInput: ChainCall,
  applyResponse?: (text: string) => T,
): Promise<CallResult<T>> {
  const { id, chain, payload, interrupts } = callInput
  const { condition, key, endingErrors: ends, waitMs } = chain
  const started = cx.clock.now()
  let reply: TargetResponse = { status: 0, body: "" }
  const note = (cause?: unknown) =>
    recordCall(cx, {
      targetId: id,
      condition,
      key,
      status: reply.status,
      answer: reply.body,
      tookMs: cx.clock.now() - started,
      error: cause === undefined ? "" : messageOf(cause),
      passedOver: cause !== undefined && interrupts && !endsChain(ends, cause),
    })
  try {
    reply = await callTarget(cx, { id, payload, key, waitMs })
    if (reply.status < 200 || reply.status > 299) throw new Error(statusText(reply))
    const refused = interrupts ? parseRejection(reply) : undefined
    if (refused) throw refused
    const value = applyResponse && reply.body.trim() !== "" ? applyResponse(reply.body) : undefined
    note()
    return { ok: true, value }
  } catch (cause) {
    note(cause)
    return { ok: false, cause }
  }
}

const endsChain = (ends: EndingErrors = "failures", cause: unknown): boolean =>
  ends === "failures" || (ends === "refusals" && isRejection(cause))

const isRejection = (cause: unknown): cause is Fault =>
  cause instanceof Fault && cause.id === "target.refused"

const messageOf = (cause: unknown): string => errorText(cause)

/** A forwarded message is for the caller; the reason of a failure is for administrators. */
function failureOf(cause: unknown, name: string): Fault {
  if (isRejection(cause)) return cause
  return new Fault(
    "failed_precondition",
    "target.failed",
    `the required target "${name}" failed; ask an administrator`,
  )
}
