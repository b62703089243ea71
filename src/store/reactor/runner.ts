import type { Clock } from "../../kernel/clock.ts"
import type { LogEvent } from "../log/log.ts"
import type { Store } from "../store.ts"
import { createHandler, createRetrier, type ReactorParts, retryEvent } from "./attempt.ts"
import { createDueRunner } from "./due.ts"
import { createProgress, retryWakers } from "./progress.ts"
import { alwaysLeads, type Reactor, type ReactorCallbacks, type Reactors } from "./reactor.ts"
import { createPauses, createRunRequired, poll, pollMs, type RunRequired } from "./required-work.ts"

/** Events to skip before other work runs: less than a millisecond. */
const batchSize = 500
/** How often a reactor that only skips events stores its position. */
const positionIntervalMs = 2000

/**
 * Runs the reactors of one node. A slow reactor only delays itself; one that is blocked by an
 * unreadable event or a full disk waits until it can continue.
 */
export function runReactors(
  store: Store,
  clock: Clock,
  reactors: readonly Reactor[],
  troubles: ReactorCallbacks = {},
): Reactors {
  const book = createProgress(store)
  const parts = reactors.map((reactor) => ({ store, clock, book, reactor, troubles }))
  const runners = parts.map((each) => createRunner(each, troubles.isLeader ?? alwaysLeads))
  const retriers = parts.map(createRetrier)
  const dueRunners = parts.map(createDueRunner)
  const wakeAll = () => {
    for (const { wake } of retriers) wake()
  }
  retryWakers.set(store.database, wakeAll)
  return {
    drain: async () => void (await Promise.all(runners.map((each) => each.drain()))),
    failed: book.all,
    retry: async (name, position) => {
      const reactor = reactors.find((each) => each.name === name)
      return reactor ? retryEvent({ store, clock, book, reactor }, position) : false
    },
    remove: book.remove,
    passedPosition: () =>
      Math.min(Number.MAX_SAFE_INTEGER, ...reactors.map(({ name }) => book.position(name))),
    standing: () =>
      reactors.map(({ name }) => {
        return { name, position: book.position(name), failed: book.failures(name) }
      }),
    stop: async () =>
      void (await Promise.all([...runners, ...retriers, ...dueRunners].map((each) => each.stop()))),
  }
}

function createRunner(parts: ReactorParts, isLeader: () => boolean) {
  const { store, clock, reactor, troubles } = parts
  let stopped = false
  const isStopped = () => stopped
  const isOver = () => stopped || !isLeader()
  const { sleep, wake } = createPauses(clock)
  const pauses = { isOver, sleep }
  const insist = createRunRequired(reactor.name, troubles, pauses)
  const handle = createHandler(parts, { ...pauses, insist })
  const runRequired = createRunRequired(reactor.name, troubles, { isOver: isStopped, sleep })
  const course = createCourse(parts, { isStopped, isOver, handle, runRequired })
  let isResumed = isLeader()
  let working = isResumed ? course.resume() : Promise.resolve()
  const all = Object.keys(reactor.on)
  const { types = () => all } = reactor
  // Events written meanwhile wait for the next turn: there may be new ones all the time.
  const work = async (isDrain: boolean) => {
    if (isOver()) {
      isResumed = false
      return
    }
    if (!isResumed || course.isBroken()) await course.resume()
    isResumed = true
    let target = store.log.durable()
    while (!course.isOff()) {
      // The types are read in the same turn as the log: what requires an event was written before
      // it.
      const { events, upTo } = await store.log.find(course.read(), batchSize, types())
      for (const event of events) {
        await course.begin(event)
        if (course.isOff()) return
        course.pass(event.position)
      }
      const hasNewEvents = upTo > course.read() || events.length > 0
      course.pass(upTo)
      if (events.length > 0 || (isDrain && hasNewEvents)) await course.advance()
      else await course.advanceAtTimes()
      // Handling one event may have caused others.
      if (events.length > 0) target = store.log.durable()
      if (course.underWay() === 0 && (course.read() >= target || !hasNewEvents)) return
      if (!hasNewEvents) await Promise.race([course.next(), sleep(pollMs)])
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const turn = (isDrain: boolean) => {
    const next = working.then(() => work(isDrain))
    working = next.catch(() => undefined)
    return next
  }
  void poll({ act: () => insist(() => turn(false)), sleep, isOver: isStopped })
  return {
    drain: () => turn(true),
    stop: async () => {
      stopped = true
      wake()
    },
  }
}

type ProgressControls = {
  readonly isStopped: () => boolean
  /** Whether this node must stop working. */
  readonly isOver: () => boolean
  /** False if interrupted. */
  readonly handle: (event: LogEvent) => Promise<boolean>
  readonly runRequired: RunRequired
}

/** The progress of a reactor, and the events it is handling. */
function createCourse(
  { store, clock, book, reactor }: ReactorParts,
  { isStopped, isOver, handle, runRequired }: ProgressControls,
) {
  let read = 0
  let stored = { position: -1, at: 0 }
  /** An event was interrupted: later ones wait until it is started again. */
  let isInterrupted = false
  const running = new Map<number, Promise<void>>()
  const isStoppedOrBroken = () => isOver() || isInterrupted
  /**
   * Stores the position before the first unfinished event; events after it may be handled again.
   * `isTold` also shares it with other nodes, so that the next leader does not repeat the work.
   */
  const advance = (isShared = false) =>
    runRequired(async () => {
      const position = await store.exclusive(() => {
        const before = Math.min(read, Math.min(...running.keys()) - 1)
        if (isStopped()) return undefined
        book.reached(reactor.name, before)
        stored = { position: before, at: clock.now() }
        return before
      })
      if (!isShared || position === undefined) return
      await store.node?.reached(new Map([[reactor.name, position]]))
    })
  return {
    isOff: isStoppedOrBroken,
    isBroken: () => isInterrupted,
    read: () => read,
    pass: (position: number) => {
      read = position
    },
    underWay: () => running.size,
    /** Resolves when one of the running events is finished. */
    next: () => Promise.race(running.values()),
    advance,
    /**
     * The same without handled events, less often: each is a write, and skipping again is harmless.
     */
    advanceAtTimes: async () => {
      const isDue = Math.abs(clock.now() - stored.at) >= positionIntervalMs
      if (isDue && read > stored.position) await advance()
    },
    /** Resumes at its own position, or that of the previous leader. */
    resume: async (now = store.log.durable()) => {
      await Promise.all(running.values())
      running.clear()
      isInterrupted = false
      const isNew = reactor.from === "now" && !book.isKnown(reactor.name)
      read = isNew ? now : book.position(reactor.name)
      if (isNew) await advance(true)
    },
    begin: async (event: LogEvent) => {
      while (!isStoppedOrBroken() && running.size >= (reactor.parallel ?? 1)) {
        await Promise.race(running.values())
      }
      if (isStoppedOrBroken()) return
      const done = handle(event).then(async (isDone) => {
        if (!isDone) {
          isInterrupted = true
          return
        }
        running.delete(event.position)
        await advance(true)
      })
      running.set(event.position, done)
    },
  }
}
