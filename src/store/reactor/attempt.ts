import type { Clock } from "../../kernel/clock.ts"
import { errorText } from "../../kernel/fault.ts"
import { isSelfCheck } from "../../kernel/self-check.ts"
import type { LogEvent } from "../log/log.ts"
import { isTemporary } from "../retry.ts"
import type { Store } from "../store.ts"
import { type ReactorProgress, retrySchedule } from "./progress.ts"
import { alwaysLeads, type Reactor, type ReactorCallbacks } from "./reactor.ts"
import {
  createPauses,
  createRunRequired,
  type InterruptiblePauses,
  poll,
  type RunRequired,
} from "./required-work.ts"

/** Attempts at an event while later events wait. */
const maxAttempts = 5

/** The dependencies of one reactor. */
export type ReactorParts = {
  readonly store: Store
  readonly clock: Clock
  readonly book: ReactorProgress
  readonly reactor: Reactor
  readonly troubles: ReactorCallbacks
}

/**
 * Attempts an event several times, until it is handled or postponed; false if it was interrupted.
 */
export function createHandler(
  { store, clock, book, reactor, troubles }: ReactorParts,
  { insist, isOver, sleep }: InterruptiblePauses & { readonly insist: RunRequired },
) {
  return async (event: LogEvent): Promise<boolean> => {
    for (let attempts = 1; ; attempts++) {
      const attemptCount = await insist(async () => ({
        error: await attemptEvent(store, reactor, event),
      }))
      if (attemptCount && attemptCount.error === undefined) return true
      if (!attemptCount || isOver()) return false
      if (attempts === maxAttempts) {
        const { error = "" } = attemptCount
        troubles.onPostponed?.(reactor.name, event, error)
        await insist(() => book.failure(reactor, event, { error, now: clock.now() }))
        return !isOver()
      }
      await sleep(2 ** attempts * 100)
      if (isOver()) return false
    }
  }
}

/** Retries a failed event and records the result. Returns false if the event no longer exists. */
export async function retryEvent(
  { store, clock, book, reactor }: Omit<ReactorParts, "troubles">,
  position: number,
  isOver = () => false,
): Promise<boolean> {
  const [event] = await store.log.read(position - 1, 1)
  const isGone = event?.position !== position
  const error = isGone ? undefined : await attemptEvent(store, reactor, event)
  if (isOver()) return false
  if (error === undefined) await book.remove(reactor.name, position)
  else if (event) await book.failure(reactor, event, { error, now: clock.now() })
  return !isGone && error === undefined
}

/** Retries failed events when they are due. */
export function createRetrier({ troubles, ...parts }: ReactorParts) {
  const { clock, book, reactor } = parts
  const { sleep, wake } = createPauses(clock)
  let stopped = false
  const isOver = () => stopped
  const insist = createRunRequired(reactor.name, troubles, { isOver, sleep })
  const { isLeader = alwaysLeads } = troubles
  const act = async () => {
    while (!stopped && isLeader()) {
      const due = book.due(reactor.name, clock.now(), reactor.parallel ?? 1)
      if (due.length === 0) return
      await Promise.all(
        due.map((position) => retryEvent(parts, position, () => stopped || !isLeader())),
      )
    }
  }
  void poll({ act: () => insist(act), everyMs: retrySchedule.checked, sleep, isOver })
  return {
    wake,
    stop: async () => {
      stopped = true
      wake()
    },
  }
}

/** The error of handling an event, or undefined. Events of self-checks are not handled. */
const attemptEvent = (store: Store, { name, on }: Reactor, event: LogEvent) =>
  catchFailure(store, async () => {
    if (isSelfCheck(event.correlation)) return
    await on[event.type]?.(event, `${name}/${event.position}`)
  })

/**
 * The error, or undefined. A failure is a result here: it is counted and shown. Failures because of
 * a full or locked disk don't count, because the work did not cause them.
 */
export async function catchFailure(
  { database }: Store,
  work: () => Promise<void>,
): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (cause) {
    if (isTemporary(cause, database.filename)) throw cause
    return errorText(cause)
  }
}
