import { isPassing } from "../patience.ts"
import type { Parts } from "./attempt.ts"
import { insistence, pausesOf, poll } from "./insistence.ts"
import { always, type DueItem } from "./reactor.ts"

const lookEveryMs = 1000
const underWayMax = 256
/** What fails for a reason that nobody expected is left alone for so long. */
const unexpectedMs = 60_000

/** Runs what a reactor has put off, once it is due; one that is slow keeps no other waiting. */
export function dueRunner({ store, clock, reactor, troubles }: Parts) {
  const { due, name } = reactor
  const { sleep, wake } = pausesOf(clock)
  let stopped = false
  const isOver = () => stopped
  const { leads = always } = troubles
  const insist = insistence(name, troubles, { isOver, sleep })
  const underWay = new Set<string>()
  const run = async (item: DueItem, key: string) => {
    try {
      await insist(async () => due?.run(item))
    } catch (cause) {
      if (isPassing(cause, store.database.filename)) throw cause
      troubles.dueFailed?.(name, item, cause instanceof Error ? cause.message : String(cause))
      await sleep(unexpectedMs)
    } finally {
      underWay.delete(key)
    }
    // There may be room for the next.
    wake()
  }
  const look = async () => {
    if (stopped || !leads() || !due) return
    for (const item of due.find(store, clock.now())) {
      const key = `${item.instance}/${item.id}`
      if (underWay.size >= underWayMax) return
      if (underWay.has(key)) continue
      underWay.add(key)
      void run(item, key)
    }
  }
  if (due) void poll({ act: () => insist(look), everyMs: lookEveryMs, sleep, isOver })
  return {
    stop: async () => {
      stopped = true
      wake()
    },
  }
}
