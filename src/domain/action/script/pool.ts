import { systemClock } from "../../../kernel/clock.ts"
import type { Outcome, ScriptJob } from "./messages.ts"
import {
  createThread,
  type PendingRun,
  type RequestHandlers,
  stoppedOutcome,
  type Thread,
} from "./thread.ts"

export type RunRequest = {
  readonly job: ScriptJob
  readonly answers: RequestHandlers
  /** The owner of the script, whose number of threads is limited. */
  readonly owner: string
}

/** Runs scripts in separate threads, off the event loop. */
export type ScriptPool = { readonly run: (request: RunRequest) => Promise<Outcome> }

type QueuedRun = RunRequest & PendingRun

/** A script that waits for an outside response keeps its thread. */
const threadsMax = 4
const threadsPerOwnerMax = 2
const waitingMax = 100
/** The time in ms after the timeout until a thread is terminated. */
const graceMs = 500
/** One idle thread is kept; others end after this time. */
const idleMs = 60_000

/** Threads are started on demand. */
export function createPool(): ScriptPool {
  const threads = new Set<Thread<QueuedRun>>()
  const queue: QueuedRun[] = []

  const start = (): Thread<QueuedRun> => {
    const thread = createThread<QueuedRun>({ free: next, gone: () => threads.delete(thread) })
    threads.add(thread)
    return thread
  }
  const next = () => {
    const at = nextIndex(queue, threads)
    const waiting = queue[at]
    if (!waiting) return
    const idle = [...threads].find((each) => each.running() === undefined)
    const thread = idle ?? (threads.size < threadsMax ? start() : undefined)
    if (!thread) return
    queue.splice(at, 1)
    thread.begin(waiting)
    startWithTimeout(threads, thread, waiting)
    next()
  }
  return {
    run: (request) => {
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
      if (queue.length >= waitingMax && !makeRoom(queue, request.owner)) {
        return Promise.resolve(queueFullOutcome())
      }
      const waiting = { ...request, resolve, reject }
      queue.push(waiting)
      // The time in the queue is part of the script's timeout.
      systemClock.after(request.job.timeoutMs, () => {
        const at = queue.indexOf(waiting)
        if (at < 0) return
        queue.splice(at, 1)
        resolve(stoppedOutcome("the script waited too long for other scripts"))
      })
      next()
      return promise
    },
  }
}

/** The index of the next run: of the owner with the fewest running scripts, the oldest first. */
function nextIndex(queue: readonly QueuedRun[], threads: ReadonlySet<Thread<QueuedRun>>): number {
  const counts = queue.map(({ owner }) => runningCountOf(threads, owner))
  const fewest = Math.min(...counts)
  return fewest < threadsPerOwnerMax ? counts.indexOf(fewest) : -1
}

/**
 * Removes the last waiting run of the owner with the most waiting runs, unless that is the new
 * owner, so that one owner can't fill the queue.
 */
function makeRoom(queue: QueuedRun[], owner: string): boolean {
  const all = Map.groupBy(queue, (each) => each.owner)
  const [most = []] = [...all.values()].toSorted((a, b) => b.length - a.length)
  if (most.length <= (all.get(owner)?.length ?? 0)) return false
  const last = most.at(-1)
  if (last) queue.splice(queue.indexOf(last), 1)
  last?.resolve(queueFullOutcome())
  return true
}

const queueFullOutcome = () => stoppedOutcome("too many scripts are waiting")

/** Ends a thread that exceeds its time, and an idle one after a while. */
function startWithTimeout(
  threads: Set<Thread<QueuedRun>>,
  thread: Thread<QueuedRun>,
  waiting: QueuedRun,
): void {
  const { timeoutMs } = waiting.job
  systemClock.after(timeoutMs + graceMs, () => {
    if (thread.running() !== waiting) return
    thread.end(`the script took longer than ${timeoutMs / 1000} seconds`)
  })
  systemClock.after(idleMs, () => {
    if (thread.running() || threads.size === 1 || !threads.has(thread)) return
    thread.end("the thread is idle")
  })
}

const runningCountOf = (threads: ReadonlySet<Thread<QueuedRun>>, owner: string): number =>
  [...threads].filter((thread) => thread.running()?.owner === owner).length
