import { breakerOf, type Resting } from "../../../kernel/breaker.ts"
import type { Cx } from "../../../store/index.ts"
import { leadsHome } from "../commands.ts"
import { type Target, target } from "../model.ts"
import { parcelOf } from "./payload.ts"

export type Calling = {
  readonly id: string
  readonly payload: object
  /** The same for each try, so that the other side can tell a repetition. */
  readonly key: string
  /** How long whoever waits for it does so at most; else what the target has. */
  readonly waitMs?: number | undefined
}

/** What came back, whatever it was. */
export type Reply = { readonly status: number; readonly body: string }

/** As large as a body may be that is sent to us. */
const sizeMax = 1024 * 1024
/** How many calls of one target are under way at once. */
const underWayMax = 64

/** What fails again and again is left alone for a while; a refusal in good order is no failure. */
const breaker = breakerOf()
const underWay = new Map<string, number>()

/** Calls a target. Rejects, in plain words, where it does not answer as a service does. */
export async function callTarget(cx: Cx, { id, payload, key, waitMs }: Calling): Promise<Reply> {
  const state = cx.store.state(cx, target, id)
  const { endpoint, timeoutMs, version } = state
  if (leadsHome(cx, new URL(endpoint))) throw new Error("it would call the service itself")
  const replies: Reply[] = []
  const wait = Math.min(timeoutMs, waitMs ?? timeoutMs)
  try {
    await breaker(cx, breakerKey(cx, id, version), async () => {
      const reply = await admitted(`${cx.instance}/${id}`, () =>
        sent(cx, state, { id, payload, key, waitMs: wait }),
      )
      replies.push(reply)
      if (reply.status >= 500) throw new Error(statusWords(reply))
    })
  } catch (cause) {
    if (replies.length === 0) throw cause
  }
  const [reply] = replies
  if (!reply) throw new Error("a call has no result")
  return reply
}

/** Where its settings change, it is tried anew. */
const breakerKey = (cx: Cx, id: string, version: number) => `${cx.instance}/${id}/${version}`

/** Whether a target is left alone for a while, for it has failed again and again. */
export const restingOf = (cx: Cx, id: string): Resting | undefined =>
  breaker.resting(cx, breakerKey(cx, id, cx.store.state(cx, target, id).version))

export const statusWords = ({ status }: Pick<Reply, "status">): string =>
  `it answered with status ${status}`

async function sent(cx: Cx, state: Target, { id, payload, key, waitMs }: Calling): Promise<Reply> {
  const { body, headers } = await parcelOf(cx, { id, target: state }, payload)
  return cx.outside.send({
    url: state.endpoint,
    method: "POST",
    body,
    sizeMax,
    timeoutMs: waitMs ?? 0,
    headers: { ...headers, "idempotency-key": `${key}/${id}` },
  })
}

async function admitted<T>(whose: string, act: () => Promise<T>): Promise<T> {
  const count = underWay.get(whose) ?? 0
  if (count >= underWayMax) throw new Error(`${underWayMax} calls of it are under way already`)
  underWay.set(whose, count + 1)
  try {
    return await act()
  } finally {
    const left = (underWay.get(whose) ?? 1) - 1
    if (left > 0) underWay.set(whose, left)
    else underWay.delete(whose)
  }
}
