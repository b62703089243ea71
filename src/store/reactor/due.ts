import { failureOf, type Parts } from "./attempt.ts"
import { insistence, pausesOf, poll } from "./insistence.ts"
import { always, type DueItem } from "./reactor.ts"

const lookEveryMs = 1000
const underWayMax = 256
/** What fails for a reason that nobody expected is left alone for so long. */
const unexpectedMs = 60_000

/** Runs what a reactor has put off, once it is due; one that is slow keeps no other waiting. */
export function dueRunner({ store, clock, reactor, troubles }: Parts) {
  const { due, name } = reactor
  const { leads = always } = troubles
  const looks = pausesOf(clock)
  // Of their own: what ends a wait for the next look must not end the pauses between tries.
  const tries = pausesOf(clock)
  let stopped = false
  const isStopped = () => stopped
  const isOver = () => stopped || !leads()
  const insist = insistence(name, troubles, { isOver, sleep: tries.sleep })
  /** What is under way, or ended less than the time between two looks ago. */
  const held = new Set<string>()
  let underWay = 0
  const run = async (item: DueItem, key: string) => {
    try {
      const work = async () => due?.run(item)
      const tried = await insist(async () => ({ error: await failureOf(store, work) }))
      if (tried?.error === undefined) return
      troubles.dueFailed?.(name, item, tried.error)
      await tries.sleep(unexpectedMs)
    } finally {
      underWay--
      // There may be room for the next.
      looks.wake()
      // What is due still must wait: done again at once, it would leave no time for anything else.
      if (!stopped) await tries.sleep(lookEveryMs)
      held.delete(key)
    }
  }
  const look = async () => {
    if (isOver() || !due) return
    for (const item of due.find(store, clock.now())) {
      const key = `${item.instance}/${item.id}`
      if (underWay >= underWayMax) return
      if (held.has(key)) continue
      held.add(key)
      underWay++
      void run(item, key)
    }
  }
  if (due) {
    const act = () => insist(look)
    void poll({ act, everyMs: lookEveryMs, sleep: looks.sleep, isOver: isStopped })
  }
  return {
    stop: async () => {
      stopped = true
      looks.wake()
      tries.wake()
    },
  }
}
