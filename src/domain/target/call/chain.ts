import { Fault, reasonText } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { kindOf } from "../condition.ts"
import { target } from "../model.ts"
import { authorsAt } from "../view.ts"
import { callTarget, type Reply, statusWords } from "./call.ts"
import { refusalIn } from "./refusal.ts"
import { noteCall } from "./runs.ts"

export type Chain<T> = {
  /** What they are called at, the id of an execution. */
  readonly condition: string
  /** Names what they are called for; the same for each try of it. */
  readonly key: string
  /** What is sent, as things stand after those before. */
  readonly payload: (now: T) => object
  /** What the answer of a target makes of it, the same where nothing changes; may fault. */
  readonly read?: (text: string, now: T, authors: readonly string[]) => T
  /** What ends it, of a target that may: any failure, unless said. */
  readonly ends?: Ends
  /** How long it waits for each target at most; else as long as the target says. */
  readonly waitMs?: number | undefined
}

/** What a target forwards is no accident: where accidents end nothing, a refusal still may. */
export type Ends = "failures" | "refusals" | "nothing"

export type Chained<T> = {
  readonly value: T
  /** The targets that changed it, and the users who decided what they make of it. */
  readonly changedBy: readonly string[]
  readonly authors: readonly string[]
  /** Those that failed where they were to end it, and did not. */
  readonly passedOver: readonly string[]
  /** What is under way and nobody waits for. */
  readonly loose: readonly Promise<void>[]
  /** What has gone wrong, of those that ended nothing. */
  readonly errors: readonly string[]
}

/**
 * Calls targets, one after the other. Faults where one fails that ends it: with what it forwards,
 * else with `target.failed`, which says nothing of why; that stands in the list of calls.
 */
export async function runChain<T>(
  cx: Cx,
  ids: readonly string[],
  first: T,
  chain: Chain<T>,
): Promise<Chained<T>> {
  let value = first
  const passedOver: string[] = []
  const changedBy: string[] = []
  const deciding: string[] = []
  // Who sets an execution anew while its targets are called does not vouch for those before.
  const planned = new Map(ids.map((id) => [id, authorsAt(cx, chain.condition, id)]))
  const errors: string[] = []
  const loose: Promise<void>[] = []
  for (const id of ids) {
    const { targetType, interruptOnError, name } = cx.store.state(cx, target, id)
    // What has happened can't be ended.
    const interrupts = interruptOnError && kindOf(chain.condition) !== "event"
    const asked = { id, chain, payload: chain.payload(value), interrupts }
    if (targetType === "async") {
      loose.push(told(cx, asked).then(() => undefined))
      continue
    }
    const took = targetType === "call" ? chain.read : undefined
    const now = value
    const authors = [...(planned.get(id) ?? []), ...authorsAt(cx, chain.condition, id)]
    const ended = await told(cx, asked, took && ((text) => took(text, now, authors)))
    if (ended.ok) {
      if (ended.value !== undefined && ended.value !== now) {
        changedBy.push(id)
        deciding.push(...authors)
        value = ended.value
      }
    } else if (interrupts && isEnd(chain.ends, ended.cause)) throw failureOf(ended.cause, name)
    else {
      errors.push(`${name}: ${wordsOf(ended.cause)}`)
      if (interrupts) passedOver.push(id)
    }
  }
  return { value, changedBy, authors: [...new Set(deciding)], passedOver, loose, errors }
}

type Asked = {
  readonly id: string
  readonly chain: Pick<Chain<never>, "condition" | "key" | "ends" | "waitMs">
  readonly payload: object
  readonly interrupts: boolean
}

type Ended<T> =
  | { readonly ok: true; readonly value: T | undefined }
  | { readonly ok: false; readonly cause: unknown }

/** Calls one target and keeps how that went; what goes wrong is an outcome here. */
async function told<T>(cx: Cx, asked: Asked, read?: (text: string) => T): Promise<Ended<T>> {
  const { id, chain, payload, interrupts } = asked
  const { condition, key, ends, waitMs } = chain
  const begun = cx.clock.now()
  let reply: Reply = { status: 0, body: "" }
  const note = (cause?: unknown) =>
    noteCall(cx, {
      targetId: id,
      condition,
      key,
      status: reply.status,
      answer: reply.body,
      tookMs: cx.clock.now() - begun,
      error: cause === undefined ? "" : wordsOf(cause),
      passedOver: cause !== undefined && interrupts && !isEnd(ends, cause),
    })
  try {
    reply = await callTarget(cx, { id, payload, key, waitMs })
    if (reply.status < 200 || reply.status > 299) throw new Error(statusWords(reply))
    const refused = interrupts ? refusalIn(reply) : undefined
    if (refused) throw refused
    const value = read && reply.body.trim() !== "" ? read(reply.body) : undefined
    note()
    return { ok: true, value }
  } catch (cause) {
    note(cause)
    return { ok: false, cause }
  }
}

const isEnd = (ends: Ends = "failures", cause: unknown): boolean =>
  ends === "failures" || (ends === "refusals" && isRefusal(cause))

const isRefusal = (cause: unknown): cause is Fault =>
  cause instanceof Fault && cause.id === "target.refused"

const wordsOf = (cause: unknown): string => reasonText(cause)

/** What a target forwards is for the caller; why it failed is for who has set it up. */
function failureOf(cause: unknown, name: string): Fault {
  if (isRefusal(cause)) return cause
  return new Fault(
    "failed_precondition",
    "target.failed",
    `"${name}", which is asked before this can go on, has failed; ask who runs this service`,
  )
}
