import type { Clock } from "../../kernel/clock.ts"
import { reasonText } from "../../kernel/fault.ts"
import { isSelfCheck } from "../../kernel/self-check.ts"
import type { LogEvent } from "../log/log.ts"
import { isPassing } from "../patience.ts"
import type { Store } from "../store.ts"
import { again, type Book } from "./book.ts"
import { type Insist, insistence, type Pauses, pausesOf, poll } from "./insistence.ts"
import { always, type Reactor, type Troubles } from "./reactor.ts"

/** So often an event is tried while those after it wait. */
const triesMax = 5

/** What one reactor runs with. */
export type Parts = {
  readonly store: Store
  readonly clock: Clock
  readonly book: Book
  readonly reactor: Reactor
  readonly troubles: Troubles
}

/** Tries an event, some times, until it is handled or put off; false where it was broken off. */
export function handlerOf(
  { store, clock, book, reactor, troubles }: Parts,
  { insist, isOver, sleep }: Pauses & { readonly insist: Insist },
) {
  return async (event: LogEvent): Promise<boolean> => {
    for (let tries = 1; ; tries++) {
      const tried = await insist(async () => ({ error: await attempt(store, reactor, event) }))
      if (tried && tried.error === undefined) return true
      if (!tried || isOver()) return false
      if (tries === triesMax) {
        const { error = "" } = tried
        troubles.postponed?.(reactor.name, event, error)
        await insist(() => book.failure(reactor, event, { error, now: clock.now() }))
        return !isOver()
      }
      await sleep(2 ** tries * 100)
      if (isOver()) return false
    }
  }
}

/** Tries a failed event again, and notes how that went. One whose stream is gone is none. */
export async function retry(
  { store, clock, book, reactor }: Omit<Parts, "troubles">,
  position: number,
  isOver = () => false,
): Promise<boolean> {
  const [event] = await store.log.read(position - 1, 1)
  const isGone = event?.position !== position
  const error = isGone ? undefined : await attempt(store, reactor, event)
  if (isOver()) return false
  if (error === undefined) await book.remove(reactor.name, position)
  else if (event) await book.failure(reactor, event, { error, now: clock.now() })
  return !isGone && error === undefined
}

/** Tries what has failed again, when it is time for it. */
export function retrier({ troubles, ...parts }: Parts) {
  const { clock, book, reactor } = parts
  const { sleep, wake } = pausesOf(clock)
  let stopped = false
  const isOver = () => stopped
  const insist = insistence(reactor.name, troubles, { isOver, sleep })
  const { leads = always } = troubles
  const act = async () => {
    while (!stopped && leads()) {
      const due = book.due(reactor.name, clock.now(), reactor.parallel ?? 1)
      if (due.length === 0) return
      await Promise.all(due.map((position) => retry(parts, position, () => stopped || !leads())))
    }
  }
  void poll({ act: () => insist(act), everyMs: again.checked, sleep, isOver })
  return {
    wake,
    stop: async () => {
      stopped = true
      wake()
    },
  }
}

/** What went wrong with an event, or undefined. Nothing is to come of those of a self-check. */
const attempt = (store: Store, { name, on }: Reactor, event: LogEvent) =>
  failureOf(store, async () => {
    if (isSelfCheck(event.correlation)) return
    await on[event.type]?.(event, `${name}/${event.position}`)
  })

/**
 * What went wrong, or undefined. A failure is an outcome here: it is counted and shown. What a full
 * or locked disk keeps from happening does not count: it is not the work's.
 */
export async function failureOf(
  { database }: Store,
  work: () => Promise<void>,
): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (cause) {
    if (isPassing(cause, database.filename)) throw cause
    return reasonText(cause)
  }
}
