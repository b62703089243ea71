import type { Clock } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Append, Appended, Folded, Log, LogEvent } from "../log/log.ts"
import type { SqliteLog } from "../log/sqlite-log.ts"
import { nodesOlder } from "../patience.ts"
import { refuseOddClock } from "./clock-check.ts"
import type { Follower } from "./follower.ts"
import { bellOf, patienceOf, shareFlight } from "./shared-flight.ts"
import type { Dropping, Outcome, Page, SharedLog } from "./shared-log.ts"

export type FollowingParts = {
  /** This node's own file. */
  readonly local: SqliteLog
  readonly shared: SharedLog
  readonly follower: Follower
  /** Runs the reducers of an event; what they throw makes its step undone. */
  readonly reduce: (event: LogEvent) => void
  readonly faultOf: (cause: unknown) => Fault | undefined
  /** Is told what this node has appended. */
  readonly appended?: ((events: Append["events"]) => void) | undefined
  readonly sleep: (ms: number) => Promise<void>
  /** A monotonic time in ms. */
  readonly now: () => number
  /** The log can't be followed now; the node is not ready. */
  readonly lost: (cause: unknown) => void
  /** It can again. */
  readonly found: () => void
  /** Of this machine; it must agree with that of the log. */
  readonly clock: Clock
}

/** The log that nodes share, with what this node has of it in its own file. */
export type FollowingLog = Log & {
  /** Resolves when the file has all that the log had when this was called; faults as it must. */
  readonly caughtUp: () => Promise<void>
  /** Drops streams in the log and, when this resolves, here. */
  readonly drop: (streams: readonly Dropping[]) => Promise<void>
  /** For how long nobody has seen the head of the log, in ms. */
  readonly unseen: () => number
  /** Why the log can't be followed now; undefined where it can. */
  readonly lost: () => unknown
}

/** Steps in one transaction: what comes while one is under way waits for the next. */
const stepsMax = 128
/** Somebody else may have written: a notice may come late, or be lost with its connection. */
const lookMs = 200
/** What others say that they wrote comes with the next answer, or is looked for after so long. */
const toldMs = 5
/** Where many wait for what others wrote, they are looked for together that often. */
const gapMs = 1
const retryMs = 500

/**
 * Appends in the shared log, which alone decides, and reads in the node's own file, which has what
 * the log has up to a position. One loop talks with the log: it sends the steps that wait together,
 * and takes what has come after the last look, theirs and those of others, in the same way and in
 * the order of the log. A step is answered when it is on disk there and its rows are here.
 *
 * What reducers throw must undo a step, and once it is in the log it stays. So each step is tried
 * out here first, and undone.
 */
export function followingLog(parts: FollowingParts): FollowingLog {
  const { local, shared, follower } = parts
  const steps: Asked<Append, Appended>[] = []
  const drops: Asked<readonly Dropping[], void>[] = []
  const looks: Asked<undefined, void>[] = []
  let isClosed = false
  const bell = bellOf(parts.sleep)
  const [talk, inTime] = [talkOf(parts), patienceOf(parts)]
  const ask = <Given, Answer>(into: Asked<Given, Answer>[], given: Given): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    into.push({ given, resolve, reject })
    bell.ring()
    return promise
  }

  const told = toldOf(parts)
  const look = async () => {
    // What came with the answer to a step was all that there was.
    const isDue = talk.awaited.any() || talk.unseen() >= lookMs
    const rest = told.dueIn()
    if (isDue || looks.length > 0 || rest === 0) {
      told.taken()
      const restMs = await talk.look(looks.splice(0))
      if (!isClosed) await bell.rest(restMs)
    } else if (!isClosed) await bell.rest(Math.min(rest, lookMs))
  }
  const work = async () => {
    // Who waits when it is closed is answered.
    while (!isClosed || steps.length + drops.length > 0) {
      const [next] = steps.length > 0 ? [] : drops.splice(0, 1)
      // Whoever asked before it was sent has seen all of it once that is here.
      if (steps.length > 0) await talk.send(steps.splice(0, stepsMax), looks.splice(0))
      else if (next) await talk.drop(next)
      else await look()
    }
  }
  const working = work()
  const heard = (position: number) => {
    told.note(position)
    bell.ring()
  }
  shared.listen(heard).catch(parts.lost)

  return {
    ...local,
    append: (step) => inTime(ask(steps, step)),
    // What is here is in the log, and on disk there.
    settle: () => Promise.resolve(),
    caughtUp: shareFlight(async () => {
      const head = await talk.head()
      // A look finds out what became of a log that another server has.
      if (!head.isSame) return ask(looks, undefined)
      if (follower.has(head)) return
      const coming = talk.awaited.until(head)
      bell.ring()
      await coming
    }, gapOf(parts)),
    drop: (streams) => ask(drops, streams),
    unseen: talk.unseen,
    lost: talk.lost,
    close: async () => {
      isClosed = true
      bell.ring()
      await working
      for (const { reject } of looks) reject(new Error("the log is closed"))
      talk.awaited.fail(new Error("the log is closed"))
      await shared.close()
      await local.close()
    },
  }
}

const gapOf = ({ now, sleep }: FollowingParts) => ({ ms: gapMs, now, sleep })

/** What others said that they wrote, and nobody has seen here. */
function toldOf({ follower, now }: FollowingParts) {
  let upTo = 0
  let since = 0
  return {
    note: (position: number) => {
      if (upTo <= follower.place().position) since = now()
      upTo = Math.max(upTo, position || Number.MAX_SAFE_INTEGER)
    },
    /** In how many ms it must be looked for; never, where all of it is here. */
    dueIn: () => {
      if (upTo <= follower.place().position) return Number.POSITIVE_INFINITY
      return Math.max(since + toldMs - now(), 0)
    },
    taken: () => {
      upTo = 0
    },
  }
}

/** What this node has seen of the log, and takes from it. */
function sightOf(parts: FollowingParts) {
  const { shared, follower, now } = parts
  let seenAt = Number.NEGATIVE_INFINITY
  let cause: unknown
  const awaited = awaitedOf(follower)
  const seen = (begun: number) => {
    seenAt = begun
    cause = undefined
    parts.found()
  }
  /** What comes after a page, asked for while that is being written; nothing where it was all. */
  const ahead = ({ upTo }: Page, head: Page["head"]): Promise<Page> | undefined => {
    if (upTo.position >= head.position && upTo.number >= head.number) return undefined
    const coming = shared.read(upTo)
    // Where the page before it can't be written nobody waits for this one.
    coming.catch(() => undefined)
    return coming
  }
  const takeAll = async (first: Page, folded?: ReadonlyMap<number, readonly Folded[]>) => {
    let coming = ahead(first, first.head)
    await follower.take(first, folded)
    while (!follower.has(first.head)) {
      const page = await (coming ?? shared.read(follower.place()))
      coming = ahead(page, first.head)
      await follower.take(page)
    }
    awaited.came()
  }
  return {
    awaited,
    seen,
    takeAll,
    unseen: () => now() - seenAt,
    lost: () => cause,
    lose: (why: unknown) => {
      cause = why
      parts.lost(why)
    },
    read: async () => {
      const begun = now()
      await takeAll(await shared.read(follower.place()))
      seen(begun)
    },
    /** Where the log ends; seen, where this node has all of it. */
    head: async () => {
      const begun = now()
      const head = await shared.head(follower.place())
      refuseOddClock(parts.clock.now(), head.time)
      if (head.isSame && follower.has(head)) seen(begun)
      return head
    },
  }
}

/** What is said to the log, one thing after the other. */
function talkOf(parts: FollowingParts) {
  const { shared, follower, now, faultOf } = parts
  const sight = sightOf(parts)
  const refuse = (asked: readonly Refusable[], cause: unknown) => {
    const fault = faultOf(cause) ?? cause
    for (const { reject } of asked) reject(fault)
    return fault
  }
  /** Answers for how long nobody need look again, in ms. */
  const look = async (asked: readonly Asked<undefined, void>[]): Promise<number> => {
    try {
      await sight.read()
      for (const { resolve } of asked) resolve()
      return lookMs
    } catch (cause) {
      const fault = refuse(asked, cause)
      sight.awaited.fail(fault)
      sight.lose(fault)
      return retryMs
    }
  }
  return {
    unseen: sight.unseen,
    lost: sight.lost,
    head: sight.head,
    awaited: sight.awaited,
    look,
    drop: async (asked: Asked<readonly Dropping[], void>) => {
      try {
        await shared.drop(asked.given)
        await sight.read()
        asked.resolve()
      } catch (cause) {
        refuse([asked], cause)
      }
    },
    send: async (
      asked: readonly Asked<Append, Appended>[],
      looks: readonly Asked<undefined, void>[],
    ) => {
      const begun = now()
      const batch = await rehearsed(parts, asked)
      if (batch.length === 0) {
        await look(looks)
        return
      }
      const sent = batch.map(({ given }) => given)
      try {
        const { outcomes, page } = await shared.append(sent, follower.place())
        await sight.takeAll(page, foldedOf(sent, outcomes, page))
        sight.seen(begun)
        answer(parts, batch, outcomes)
        for (const { resolve } of looks) resolve()
      } catch (cause) {
        refuse([...batch, ...looks], cause)
      }
    },
  }
}

type Asked<Given, Answer> = {
  readonly given: Given
  readonly resolve: (answer: Answer) => void
  readonly reject: (cause: unknown) => void
}

type Refusable = { readonly reject: (cause: unknown) => void }

/** Those who wait until this node has what the log had when it ended somewhere. */
function awaitedOf({ has }: Follower) {
  let waiting: readonly Asked<Page["head"], void>[] = []
  return {
    any: () => waiting.length > 0,
    until: (head: Page["head"]): Promise<void> =>
      new Promise((resolve, reject) => {
        waiting = [...waiting, { given: head, resolve, reject }]
      }),
    came: () => {
      const here = waiting.filter(({ given }) => has(given))
      waiting = waiting.filter(({ given }) => !has(given))
      for (const { resolve } of here) resolve()
    },
    fail: (cause: unknown) => {
      const failed = waiting
      waiting = []
      for (const { reject } of failed) reject(cause)
    },
  }
}

/** The steps that reducers take; who asked for the others is told why not. */
async function rehearsed(
  { local, follower, reduce, faultOf }: FollowingParts,
  batch: readonly Asked<Append, Appended>[],
): Promise<readonly Asked<Append, Appended>[]> {
  const taken: Asked<Append, Appended>[] = []
  const { position } = follower.place()
  for (const each of batch) {
    const placed = each.given.events.map((event, index) => ({
      ...event,
      position: position + index + 1,
    }))
    try {
      const conflict = await local.rehearse(each.given, () => placed.forEach(reduce))
      // What others wrote since it was decided is here already: nobody need be asked.
      if (conflict) each.resolve(conflict)
      else taken.push(each)
    } catch (cause) {
      each.reject(faultOf(cause) ?? cause)
    }
  }
  return taken
}

/**
 * What the decisions folded, by the positions that their events have come to have. Of a step whose
 * last events come with another page each event is folded by itself: what is here by then is whole.
 */
function foldedOf(
  steps: readonly Append[],
  outcomes: readonly Outcome[],
  { upTo }: Page,
): ReadonlyMap<number, readonly Folded[]> {
  const folded = new Map<number, readonly Folded[]>()
  for (const [index, step] of steps.entries()) {
    const outcome = outcomes[index]
    if (outcome?.kind !== "appended" || !step.folded) continue
    if (outcome.position > upTo.position) continue
    const first = outcome.position - step.events.length + 1
    for (const at of step.events.keys()) folded.set(first + at, step.folded)
  }
  return folded
}

/** Tells everybody what became of their step. */
function answer(
  { follower, appended, faultOf }: FollowingParts,
  batch: readonly Asked<Append, Appended>[],
  outcomes: readonly Outcome[],
): void {
  const { position } = follower.place()
  for (const [index, { given, resolve, reject }] of batch.entries()) {
    const outcome = outcomes[index]
    if (outcome?.kind === "early") {
      reject(earlyError(outcome.type))
      continue
    }
    if (outcome?.kind === "refused") {
      reject(faultOf(outcome.cause) ?? outcome.cause)
      continue
    }
    const result = appendedOf(given, outcome, position)
    if (result.kind === "appended") appended?.(given.events)
    resolve(result)
  }
}

const earlyError = (type: string) =>
  new Fault(
    "unavailable",
    nodesOlder,
    `nodes of an older version are still there, which can't read what this writes (${type}); try ` +
      "again once all of them are upgraded",
  )

function appendedOf(
  step: Append,
  outcome: Exclude<Outcome, { kind: "early" | "refused" }> | undefined,
  position: number,
): Appended {
  if (outcome?.kind === "taken") {
    const claim = step.claims[outcome.claim]
    if (claim) return { kind: "taken", claim }
  } else if (outcome) {
    return step.events.length > 0 || outcome.kind === "conflict"
      ? outcome
      : { kind: "appended", position }
  }
  throw new Error("PostgreSQL answered for another batch")
}
