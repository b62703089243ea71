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
    const at = queue.findIndex(({ whose }) => runningOf(threads, whose) < threadsOfOne)
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
      if (queue.length >= waitingMax) return Promise.resolve(stopped("too many scripts wait"))
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
