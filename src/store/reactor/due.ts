import { catchFailure, type ReactorParts } from "./attempt.ts"
import { alwaysLeads, type DueItem } from "./reactor.ts"
import { createPauses, createRunRequired, poll } from "./required-work.ts"

const pollIntervalMs = 1000
const maxRunning = 256
/** Pause after an unexpected failure. */
const unexpectedPauseMs = 60_000

/** Runs the postponed work of a reactor when it is due; slow items don't block others. */
export function createDueRunner({ store, clock, reactor, troubles }: ReactorParts) {
  const { due, name } = reactor
  const { isLeader = alwaysLeads } = troubles
  const pollPauses = createPauses(clock)
  // Separate pauses: waking the next poll must not shorten the pauses between retries.
  const retryPauses = createPauses(clock)
  let stopped = false
  const isStopped = () => stopped
  const isOver = () => stopped || !isLeader()
  const insist = createRunRequired(name, troubles, { isOver, sleep: retryPauses.sleep })
  /** Items that are running, or ended within the last poll interval. */
  const recentItems = new Set<string>()
  let running = 0
  const run = async (item: DueItem, key: string) => {
    try {
      const work = async () => due?.run(item)
      const tried = await insist(async () => ({ error: await catchFailure(store, work) }))
      if (tried?.error === undefined) return
      troubles.onDueFailed?.(name, item, tried.error)
      await retryPauses.sleep(unexpectedPauseMs)
    } finally {
      running--
      // There may be room for the next item.
      pollPauses.wake()
      // An item that is still due must wait: an immediate retry would block everything else.
      if (!stopped) await retryPauses.sleep(pollIntervalMs)
      recentItems.delete(key)
    }
  }
  const findDue = async () => {
    if (isOver() || !due) return
    for (const item of due.find(store, clock.now())) {
      const key = `${item.instance}/${item.id}`
      if (running >= maxRunning) return
      if (recentItems.has(key)) continue
      recentItems.add(key)
      running++
      void run(item, key)
    }
  }
  if (due) {
    const act = () => insist(findDue)
    void poll({ act, everyMs: pollIntervalMs, sleep: pollPauses.sleep, isOver: isStopped })
  }
  return {
    stop: async () => {
      stopped = true
      pollPauses.wake()
      retryPauses.wake()
    },
  }
}
