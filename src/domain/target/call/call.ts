import { createBreaker, type OpenCircuit } from "../../../kernel/breaker.ts"
import type { Cx } from "../../../store/index.ts"
import { isOwnHost } from "../commands.ts"
import { type Target, target } from "../model.ts"
import { encodePayload } from "./payload.ts"

export type CallInput = {
  readonly id: string
  readonly payload: object
  /** The same for all attempts, so that the receiver can detect repetitions. */
  readonly key: string
  /** The time limit of the caller; by default that of the target. */
  readonly waitMs?: number | undefined
}

/** The response, regardless of its status. */
export type TargetResponse = { readonly status: number; readonly body: string }

/** The same limit as for request bodies. */
const sizeMax = 1024 * 1024
/** The maximum number of concurrent calls of one target. */
const concurrentCallsMax = 64

/** Pauses targets that fail repeatedly; a well-formed rejection is not a failure. */
const breaker = createBreaker()
const runningCalls = new Map<string, number>()

/** Calls a target. Throws, with a readable message, if it does not respond properly. */
export async function callTarget(
  cx: Cx,
  { id, payload, key, waitMs }: CallInput,
): Promise<TargetResponse> {
  const state = cx.store.state(cx, target, id)
  const { endpoint, timeoutMs, version } = state
  if (isOwnHost(cx, new URL(endpoint))) throw new Error("the endpoint leads to this server itself")
  const replies: TargetResponse[] = []
  const wait = Math.min(timeoutMs, waitMs ?? timeoutMs)
  try {
    await breaker(cx, breakerKey(cx, id, version), async () => {
      const reply = await withCallLimit(`${cx.instance}/${id}`, () =>
        sendCall(cx, state, { id, payload, key, waitMs: wait }),
      )
      replies.push(reply)
      if (reply.status >= 500) throw new Error(statusText(reply))
    })
  } catch (cause) {
    if (replies.length === 0) throw cause
  }
  const [reply] = replies
  if (!reply) throw new Error("the call has no result")
  return reply
}

/** A change of the settings ends the pause. */
const breakerKey = (cx: Cx, id: string, version: number) => `${cx.instance}/${id}/${version}`

/** The pause of a target that has failed repeatedly; undefined if it is not paused. */
export const pauseOf = (cx: Cx, id: string): OpenCircuit | undefined =>
  breaker.resting(cx, breakerKey(cx, id, cx.store.state(cx, target, id).version))

export const statusText = ({ status }: Pick<TargetResponse, "status">): string =>
  `the target returned status ${status}`

async function sendCall(
  cx: Cx,
  state: Target,
  { id, payload, key, waitMs }: CallInput,
): Promise<TargetResponse> {
  const { body, headers } = await encodePayload(cx, { id, target: state }, payload)
  return cx.outside.send({
    url: state.endpoint,
    method: "POST",
    body,
    sizeMax,
    timeoutMs: waitMs ?? 0,
    headers: { ...headers, "idempotency-key": `${key}/${id}` },
  })
}

async function withCallLimit<T>(targetKey: string, act: () => Promise<T>): Promise<T> {
  const count = runningCalls.get(targetKey) ?? 0
  if (count >= concurrentCallsMax)
    throw new Error(`${concurrentCallsMax} calls of this target are already running`)
  runningCalls.set(targetKey, count + 1)
  try {
    return await act()
  } finally {
    const left = (runningCalls.get(targetKey) ?? 1) - 1
    if (left > 0) runningCalls.set(targetKey, left)
    else runningCalls.delete(targetKey)
  }
}
