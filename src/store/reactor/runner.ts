import type { Clock } from "../../kernel/clock.ts"
import type { LogEvent } from "../log/log.ts"
import type { Store } from "../store.ts"
import { handlerOf, type Parts, retrier, retry } from "./attempt.ts"
import { bookOf, wakers } from "./book.ts"
import { dueRunner } from "./due.ts"
import { type Insist, insistence, pausesOf, poll, pollMs } from "./insistence.ts"
import { always, type Reactor, type Reactors, type Troubles } from "./reactor.ts"

/** Events that are passed over before others have their turn: less than a millisecond. */
const batch = 500
/** How often a reactor that only passes events over notes how far it is. */
const noteMs = 2000

/**
 * Runs the reactors of one node. A slow reactor delays itself only; one that meets an event which
 * can't be read, or a disk that is full, stays there until it can go on.
 */
export function runReactors(
  store: Store,
  clock: Clock,
  reactors: readonly Reactor[],
  troubles: Troubles = {},
): Reactors {
  const book = bookOf(store)
  const parts = reactors.map((reactor) => ({ store, clock, book, reactor, troubles }))
  const runners = parts.map((each) => runner(each, troubles.leads ?? always))
  const retriers = parts.map(retrier)
  const dueRunners = parts.map(dueRunner)
  const wakeAll = () => {
    for (const { wake } of retriers) wake()
  }
  wakers.set(store.database, wakeAll)
  return {
    drain: async () => void (await Promise.all(runners.map((each) => each.drain()))),
    failed: book.all,
    retry: async (name, position) => {
      const reactor = reactors.find((each) => each.name === name)
      return reactor ? retry({ store, clock, book, reactor }, position) : false
    },
    remove: book.remove,
    passed: () =>
      Math.min(Number.MAX_SAFE_INTEGER, ...reactors.map(({ name }) => book.position(name))),
    standing: () =>
      reactors.map(({ name }) => {
        return { name, position: book.position(name), failed: book.failures(name) }
      }),
    stop: async () =>
      void (await Promise.all([...runners, ...retriers, ...dueRunners].map((each) => each.stop()))),
  }
}

function runner(parts: Parts, leads: () => boolean) {
  const { store, clock, reactor, troubles } = parts
  let stopped = false
  const isStopped = () => stopped
  const isOver = () => stopped || !leads()
  const { sleep, wake } = pausesOf(clock)
  const pauses = { isOver, sleep }
  const insist = insistence(reactor.name, troubles, pauses)
  const handle = handlerOf(parts, { ...pauses, insist })
  const noting = insistence(reactor.name, troubles, { isOver: isStopped, sleep })
  const course = courseOf(parts, { isStopped, isOver, handle, noting })
  let isBegun = leads()
  let working = isBegun ? course.resume() : Promise.resolve()
  const all = Object.keys(reactor.on)
  const { types = () => all } = reactor
  // What is written meanwhile waits for the next turn: somebody writes all the time.
  const work = async (isAsked: boolean) => {
    if (isOver()) {
      isBegun = false
      return
    }
    if (!isBegun || course.isBroken()) await course.resume()
    isBegun = true
    let target = store.log.durable()
    while (!course.isOff()) {
      // Asked for in the same turn as the log is: what wants an event was written before it.
      const { events, upTo } = await store.log.find(course.read(), batch, types())
      for (const event of events) {
        await course.begin(event)
        if (course.isOff()) return
        course.pass(event.position)
      }
      const isNews = upTo > course.read() || events.length > 0
      course.pass(upTo)
      if (events.length > 0 || (isAsked && isNews)) await course.advance()
      else await course.advanceAtTimes()
      // Handling one event may have caused others.
      if (events.length > 0) target = store.log.durable()
      if (course.underWay() === 0 && (course.read() >= target || !isNews)) return
      if (!isNews) await Promise.race([course.next(), sleep(pollMs)])
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const turn = (isAsked: boolean) => {
    const next = working.then(() => work(isAsked))
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

type Steering = {
  readonly isStopped: () => boolean
  /** Whether this node works no more. */
  readonly isOver: () => boolean
  /** False where it was broken off. */
  readonly handle: (event: LogEvent) => Promise<boolean>
  readonly noting: Insist
}

/** How far a reactor has come, and the events that it is at. */
function courseOf(
  { store, clock, book, reactor }: Parts,
  { isStopped, isOver, handle, noting }: Steering,
) {
  let read = 0
  let noted = { position: -1, at: 0 }
  /** An event was broken off: nobody passes it until it is begun again. */
  let isBroken = false
  const underWay = new Map<number, Promise<void>>()
  const isOff = () => isOver() || isBroken
  /**
   * Notes where it is: before the first event that is not done; what is done beyond it may be done
   * again. `isTold` is for what was done: whichever node works next must not do it again.
   */
  const advance = (isTold = false) =>
    noting(async () => {
      const position = await store.exclusive(() => {
        const before = Math.min(read, Math.min(...underWay.keys()) - 1)
        if (isStopped()) return undefined
        book.reached(reactor.name, before)
        noted = { position: before, at: clock.now() }
        return before
      })
      if (!isTold || position === undefined) return
      await store.node?.reached(new Map([[reactor.name, position]]))
    })
  return {
    isOff,
    isBroken: () => isBroken,
    read: () => read,
    pass: (position: number) => {
      read = position
    },
    underWay: () => underWay.size,
    /** Resolves when one of those under way is done. */
    next: () => Promise.race(underWay.values()),
    advance,
    /** The same where there was nothing to do: each is a write, and to look again does no harm. */
    advanceAtTimes: async () => {
      const isDue = Math.abs(clock.now() - noted.at) >= noteMs
      if (isDue && read > noted.position) await advance()
    },
    /** Goes on where it was, or where the node before this one was. */
    resume: async (now = store.log.durable()) => {
      await Promise.all(underWay.values())
      underWay.clear()
      isBroken = false
      const isNew = reactor.from === "now" && !book.isKnown(reactor.name)
      read = isNew ? now : book.position(reactor.name)
      if (isNew) await advance(true)
    },
    begin: async (event: LogEvent) => {
      while (!isOff() && underWay.size >= (reactor.parallel ?? 1)) {
        await Promise.race(underWay.values())
      }
      if (isOff()) return
      const done = handle(event).then(async (isDone) => {
        if (!isDone) {
          isBroken = true
          return
        }
        underWay.delete(event.position)
        await advance(true)
      })
      underWay.set(event.position, done)
    },
  }
}
