import type { Database } from "bun:sqlite"
import type { Clock, Timer } from "../kernel/clock.ts"
import type { AnyEvent, Recorded } from "./event.ts"
import type { LogEvent } from "./log/log.ts"
import { type Insistence, insistently, isPassing } from "./patience.ts"
import type { FailedSelection } from "./shared/shared-log.ts"
import type { Store } from "./store.ts"

/**
 * What must not happen inside a transaction: mail, webhooks, logout calls. Called at least once
 * for each event, in order, after it is on disk; `key` is the same for every try of one event, so
 * that the other side can tell a repetition.
 */
export type Reactor = {
  readonly name: string
  /** Where one begins that is new to a log: at its first event (that is so unless told), or now. */
  readonly from?: "first" | "now"
  readonly on: Readonly<Record<string, (event: Recorded<AnyEvent>, key: string) => Promise<void>>>
  /** Of the types in `on` those that are wanted just now, where that depends on what is written. */
  readonly types?: () => readonly string[]
  /** How many events may be under way at once, in no order then; one unless said. */
  readonly parallel?: number
}

/**
 * An event that a reactor went on without. It is tried again for half a day, ever more seldom, and
 * kept here until that works, or somebody removes it.
 */
export type FailedEvent = {
  readonly reactor: string
  readonly position: number
  readonly instance: string
  readonly failures: number
  readonly error: string
  /** When it failed last, ms UTC; 0 while it is to be tried again at once. */
  readonly last: number
}

export type ReactorStanding = {
  readonly name: string
  readonly position: number
  readonly failed: number
}

export type Reactors = {
  /** Works until nothing is left to do; tests and shutdown await it. */
  readonly drain: () => Promise<void>
  readonly failed: () => readonly FailedEvent[]
  /** Tries a failed event again; true when it worked, and it is then off the list. */
  readonly retry: (reactor: string, position: number) => Promise<boolean>
  readonly remove: (reactor: string, position: number) => Promise<void>
  /** The position that all of them have passed; beyond everything where there are none. */
  readonly passed: () => number
  /** Where each of them stands, and how many events it has gone on without. */
  readonly standing: () => readonly ReactorStanding[]
  readonly stop: () => Promise<void>
}

/** So often an event is tried while those after it wait. */
const triesMax = 5
/**
 * When a failed event is tried again, in ms after it failed last: what is restarted, or moved, has
 * hours for it. Longer than half a day would be of no use, for streams that ended are dropped then.
 */
const again = { checked: 10_000, first: 30_000, most: 1_800_000, failuresMax: 30 } as const
/** Events that are passed over before others have their turn: less than a millisecond. */
const batch = 500
const pollMs = 200
/** How often a reactor that only passes events over notes how far it is. */
const noteMs = 2000

/** What reactors tell of what does not work. */
export type Troubles = {
  /** One can't go on: it met an event that can't be read, or the disk is full. It tries again. */
  readonly stuck?: (reactor: string, cause: unknown) => void
  /** It goes on. */
  readonly freed?: (reactor: string) => void
  /** The first tries with an event have failed; it is a failed event from now on. */
  readonly gaveUp?: (reactor: string, event: LogEvent, error: string) => void
  /** Whether it is this node that works; others keep still until they are asked to. */
  readonly leads?: () => boolean
}

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
      void (await Promise.all([...runners, ...retriers].map((each) => each.stop()))),
  }
}

const always = () => true

const rethrow = (_: string, cause: unknown): never => {
  throw cause
}

type Parts = {
  readonly store: Store
  readonly clock: Clock
  readonly book: Book
  readonly reactor: Reactor
  readonly troubles: Troubles
}

/** Tries a failed event again, and notes how that went. One whose stream is gone is none. */
async function retry(
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
function retrier({ troubles, ...parts }: Parts) {
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

type Pauses = Pick<Insistence, "isOver"> & { readonly sleep: (ms: number) => Promise<void> }
type Insist = <T>(work: () => Promise<T>) => Promise<T | undefined>

/** Tries an event, some times, until it is handled or given up; false where it was broken off. */
function handlerOf(
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
        troubles.gaveUp?.(reactor.name, event, error)
        await insist(() => book.failure(reactor, event, { error, now: clock.now() }))
        return !isOver()
      }
      await sleep(2 ** tries * 100)
      if (isOver()) return false
    }
  }
}

/** Does what must be done to go on, however often the disk refuses it. */
function insistence(name: string, { stuck = rethrow, freed }: Troubles, pauses: Pauses): Insist {
  return <T>(work: () => Promise<T>) => {
    let isStuck = false
    const failed = (cause: unknown) => {
      isStuck = true
      stuck(name, cause)
    }
    return insistently({ ...pauses, failed }, async () => {
      const result = await work()
      if (isStuck) freed?.(name)
      return result
    })
  }
}

type Polling = {
  readonly act: () => Promise<void>
  readonly everyMs?: number
  readonly sleep: (ms: number) => Promise<void>
  readonly isOver: () => boolean
}

async function poll({ act, everyMs = pollMs, sleep, isOver }: Polling): Promise<void> {
  while (!isOver()) {
    await sleep(everyMs)
    if (!isOver()) await act()
  }
}

/** Waits that all end at once when there is nothing left to wait for. */
function pausesOf(clock: Clock) {
  const pauses = new Set<() => void>()
  const sleep = (ms: number) =>
    new Promise<void>((resolve) => {
      const end = () => {
        pauses.delete(end)
        timer.stop()
        resolve()
      }
      const timer: Timer = clock.after(ms, end)
      pauses.add(end)
    })
  const wake = () => {
    for (const end of [...pauses]) end()
  }
  return { sleep, wake }
}

/**
 * What went wrong, or undefined. A failure is an outcome here: it is counted and shown. What a full
 * or locked disk keeps from happening does not count: it is not the event's.
 */
async function attempt(
  { database }: Store,
  reactor: Reactor,
  event: LogEvent,
): Promise<string | undefined> {
  try {
    await reactor.on[event.type]?.(event, `${reactor.name}/${event.position}`)
    return undefined
  } catch (cause) {
    if (isPassing(cause, database.filename)) throw cause
    return cause instanceof Error ? cause.message : String(cause)
  }
}

type Book = ReturnType<typeof bookOf>

/** Positions and failures. Both may lag behind the work: at-least-once is the promise. */
/** What reactors have gone on without, the oldest first; of one instance where it is named. */
export const failedEvents = ({ database }: Store, instance?: string): readonly FailedEvent[] =>
  database
    .query<FailedEvent, [string | null]>(
      "SELECT * FROM failed_event WHERE ?1 IS NULL OR instance = ?1 ORDER BY position, reactor",
    )
    .all(instance ?? null)

/** Takes a failed event off the list: it is tried no more, and stays in the log. */
export async function removeFailedEvent(
  store: Store,
  reactor: string,
  position: number,
): Promise<void> {
  if (store.worker) return store.worker.writer.removeFailed(reactor, position)
  await store.node?.unfailed({ reactor, position })
  await store.exclusive(() =>
    store.database
      .query("DELETE FROM failed_event WHERE reactor = ? AND position = ?")
      .run(reactor, position),
  )
}

/** Those who wait for the time of what has failed, by the store that it stands in. */
const wakers = new WeakMap<Database, () => void>()

/**
 * Has failed events tried again at once, also those that were given up, each by its own reactor,
 * and answers how many that are. What fails again is counted and stays on the list.
 */
export async function retryFailedEvents(store: Store, which: FailedSelection): Promise<number> {
  if (store.worker) return store.worker.writer.retryFailed(which)
  const { instance, reactor, position } = which
  await store.node?.failedAgain({ instance, reactor, position })
  const marked = await store.exclusive(
    () =>
      store.database
        .query<unknown, [string | null, string | null, number | null]>(
          `UPDATE failed_event SET last = 0 WHERE (?1 IS NULL OR instance = ?1)
             AND (?2 IS NULL OR reactor = ?2) AND (?3 IS NULL OR position = ?3)`,
        )
        .run(instance ?? null, reactor ?? null, position ?? null).changes,
  )
  wakers.get(store.database)?.()
  return marked
}

function bookOf(store: Store) {
  const { database } = store
  const at = database.prepare<{ position: number }, [string]>(
    "SELECT position FROM reactor WHERE name = ?",
  )
  const move = database.prepare(
    `INSERT INTO reactor (name, position) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET position = excluded.position`,
  )
  const fail = database.prepare(
    `INSERT INTO failed_event (reactor, position, instance, failures, error, last)
     VALUES (?, ?, ?, 1, ?, ?)
     ON CONFLICT DO UPDATE SET failures = failures + 1, error = excluded.error,
       last = excluded.last`,
  )
  const failures = database.prepare<{ count: number }, [string]>(
    "SELECT count(*) AS count FROM failed_event WHERE reactor = ?",
  )
  const due = database.prepare<{ position: number }, [string, number, number]>(
    `SELECT position FROM failed_event WHERE reactor = ? AND (last = 0
       OR failures < ${again.failuresMax}
         AND last + min(${again.first} << (failures - 1), ${again.most}) <= ?)
     ORDER BY last LIMIT ?`,
  )
  return {
    isKnown: (name: string) => at.get(name) !== null,
    position: (name: string) => at.get(name)?.position ?? 0,
    reached: (name: string, position: number) => void move.run(name, position),
    failure: async (reactor: Reactor, event: LogEvent, what: { error: string; now: number }) => {
      const { position, instance } = event
      const { error, now: last } = what
      await store.node?.failed({ reactor: reactor.name, position, instance, error, last })
      await store.exclusive(
        () => void fail.run(reactor.name, event.position, event.instance, what.error, what.now),
      )
    },
    remove: (name: string, position: number) => removeFailedEvent(store, name, position),
    all: () => failedEvents(store),
    failures: (name: string) => failures.get(name)?.count ?? 0,
    due: (name: string, now: number, most: number) =>
      due.all(name, now, most).map(({ position }) => position),
  }
}
