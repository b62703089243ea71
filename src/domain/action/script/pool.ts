import { systemClock } from "../../../kernel/clock.ts"
import { type Answers, newThread, type Running, stopped, type Thread } from "./thread.ts"
import type { Job, Outcome } from "./wire.ts"

export type Asked = {
  readonly job: Job
  readonly answers: Answers
  /** Whose script it is: nobody takes all threads for themselves. */
  readonly whose: string
}

/** Runs scripts in threads of their own, off the event loop. */
export type Pool = { readonly run: (asked: Asked) => Promise<Outcome> }

type Waiting = Asked & Running

/** A script that waits for an answer from outside keeps its thread. */
const threadsMax = 4
const threadsOfOne = 2
const waitingMax = 100
/** What a thread gets beyond its time before it is ended from outside. */
const graceMs = 500
/** The last of idle threads stays, others go after so long. */
const idleMs = 60_000

/** Threads are started by the first who needs them. */
export function newPool(): Pool {
  const threads = new Set<Thread<Waiting>>()
  const queue: Waiting[] = []

  const start = (): Thread<Waiting> => {
    const thread = newThread<Waiting>({ free: next, gone: () => threads.delete(thread) })
    threads.add(thread)
    return thread
  }
  const next = () => {
    const at = nextAt(queue, threads)
    const waiting = queue[at]
    if (!waiting) return
    const idle = [...threads].find((each) => each.running() === undefined)
    const thread = idle ?? (threads.size < threadsMax ? start() : undefined)
    if (!thread) return
    queue.splice(at, 1)
    thread.begin(waiting)
    watch(threads, thread, waiting)
    next()
  }
  return {
    run: (asked) => {
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
      if (queue.length >= waitingMax && !makeRoom(queue, asked.whose)) {
        return Promise.resolve(tooMany())
      }
      const waiting = { ...asked, resolve, reject }
      queue.push(waiting)
      // Whoever signs in waits for a place as they wait for the script.
      systemClock.after(asked.job.timeoutMs, () => {
        const at = queue.indexOf(waiting)
        if (at < 0) return
        queue.splice(at, 1)
        resolve(stopped("too many scripts ran before it"))
      })
      next()
      return promise
    },
  }
}

/** Whose turn it is: of whom the fewest run, and of those who has waited longest. */
function nextAt(queue: readonly Waiting[], threads: ReadonlySet<Thread<Waiting>>): number {
  const counts = queue.map(({ whose }) => runningOf(threads, whose))
  const fewest = Math.min(...counts)
  return fewest < threadsOfOne ? counts.indexOf(fewest) : -1
}

/**
 * Sends away the last one of whoever has most waiting, unless that is who asks: however many wait
 * for somebody, there is room for others.
 */
function makeRoom(queue: Waiting[], whose: string): boolean {
  const all = Map.groupBy(queue, (each) => each.whose)
  const [most = []] = [...all.values()].toSorted((a, b) => b.length - a.length)
  if (most.length <= (all.get(whose)?.length ?? 0)) return false
  const last = most.at(-1)
  if (last) queue.splice(queue.indexOf(last), 1)
  last?.resolve(tooMany())
  return true
}

const tooMany = () => stopped("too many scripts wait")

/** A thread that does not come back is ended, and one that has nothing to do after a while. */
function watch(threads: Set<Thread<Waiting>>, thread: Thread<Waiting>, waiting: Waiting): void {
  const { timeoutMs } = waiting.job
  systemClock.after(timeoutMs + graceMs, () => {
    if (thread.running() !== waiting) return
    thread.end(`the script took longer than ${timeoutMs / 1000} seconds`)
  })
  systemClock.after(idleMs, () => {
    if (thread.running() || threads.size === 1 || !threads.has(thread)) return
    thread.end("nothing runs in it")
  })
}

const runningOf = (threads: ReadonlySet<Thread<Waiting>>, whose: string): number =>
  [...threads].filter((thread) => thread.running()?.whose === whose).length
