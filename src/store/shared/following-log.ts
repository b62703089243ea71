import type { Clock } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Append, AppendResult, FoldedStream, Log, LogEvent } from "../log/log.ts"
import type { SqliteLog } from "../log/sqlite-log.ts"
import { nodesOlderId } from "../retry.ts"
import { requireSynchronizedClock } from "./clock-check.ts"
import type { Follower } from "./follower.ts"
import { createBell, createTimeoutGuard, shareRuns } from "./shared-flight.ts"
import type { AppendOutcome, LogPage, SharedLog, StreamRemoval } from "./shared-log.ts"

export type FollowingLogOptions = {
  /** This node's own file. */
  readonly local: SqliteLog
  readonly shared: SharedLog
  readonly follower: Follower
  /** Runs the reducers of an event; an exception rolls back its transaction. */
  readonly reduce: (event: LogEvent) => void
  readonly faultOf: (cause: unknown) => Fault | undefined
  /** Receives the events that this node has appended. */
  readonly appended?: ((events: Append["events"]) => void) | undefined
  readonly sleep: (ms: number) => Promise<void>
  /** A monotonic time in ms. */
  readonly now: () => number
  /** Following fails; the node is not ready. */
  readonly lost: (cause: unknown) => void
  /** Following works again. */
  readonly found: () => void
  /** This machine's clock; it must agree with the log's. */
  readonly clock: Clock
}

/** The shared log, of which this node has a copy in its own file. */
export type FollowingLog = Log & {
  /**
   * Resolves when the file has everything that the log had at the time of the call; rejects if
   * following fails.
   */
  readonly caughtUp: () => Promise<void>
  /** Removes streams in the log and then here. */
  readonly drop: (streams: readonly StreamRemoval[]) => Promise<void>
  /** Milliseconds since the head of the log was last read. */
  readonly unseen: () => number
  /** Why following fails; undefined while it works. */
  readonly lost: () => unknown
}

/** Maximum transactions per batch: those that arrive during a batch wait for the next one. */
const maxBatch = 128
/** Poll interval: notifications may be late, or lost with their connection. */
const pollMs = 200
/**
 * Events that other nodes announce usually arrive with the next response; otherwise they are read
 * after this time.
 */
const announcedMs = 5
/** If many callers wait for other nodes' events, reads are shared at this interval. */
const sharedReadGapMs = 1
const retryMs = 500

/**
 * Appends to the shared log, which alone decides, and reads from the node's own file, which is a
 * copy up to a position. A single loop communicates with the log: it sends pending transactions in
 * batches, and applies all new events, of this and other nodes, in the order of the log. A
 * transaction is answered when it is synced in the log and its rows are in the file.
 * An exception in a reducer must roll back its transaction, which is impossible once it is in the
 * log. Therefore each transaction is rehearsed in the file first, and rolled back.
 */
export function createFollowingLog(parts: FollowingLogOptions): FollowingLog {
  const { local, shared, follower } = parts
  const steps: PendingRequest<Append, AppendResult>[] = []
  const drops: PendingRequest<readonly StreamRemoval[], void>[] = []
  const pendingReads: PendingRequest<undefined, void>[] = []
  let isClosed = false
  const bell = createBell(parts.sleep)
  const [logClient, withPatience] = [createLogClient(parts), createTimeoutGuard(parts)]
  const enqueue = <Input, Answer>(
    queue: PendingRequest<Input, Answer>[],
    input: Input,
  ): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    queue.push({ input, resolve, reject })
    bell.ring()
    return promise
  }

  const announcements = createAnnouncements(parts)
  const readLog = async () => {
    // The response to an append contained everything.
    const isDue = logClient.awaited.any() || logClient.unseen() >= pollMs
    const announcedInMs = announcements.dueIn()
    if (isDue || pendingReads.length > 0 || announcedInMs === 0) {
      announcements.taken()
      const restMs = await logClient.look(pendingReads.splice(0))
      if (!isClosed) await bell.rest(restMs)
    } else if (!isClosed) await bell.rest(Math.min(announcedInMs, pollMs))
  }
  const work = async () => {
    // Pending calls are answered before closing.
    while (!isClosed || steps.length + drops.length > 0) {
      const [next] = steps.length > 0 ? [] : drops.splice(0, 1)
      // A lookup requested before the batch has seen everything once the batch is applied.
      if (steps.length > 0) await logClient.send(steps.splice(0, maxBatch), pendingReads.splice(0))
      else if (next) await logClient.drop(next)
      else await readLog()
    }
  }
  const working = work()
  const onAnnouncement = (position: number) => {
    announcements.note(position)
    bell.ring()
  }
  shared.listen(onAnnouncement).catch(parts.lost)

  return {
    ...local,
    append: (step) => withPatience(enqueue(steps, step)),
    // Everything in the file is synced in the log.
    settle: () => Promise.resolve(),
    caughtUp: shareRuns(async () => {
      const head = await logClient.head()
      // A read finds out what another server's log contains.
      if (!head.isSame) return enqueue(pendingReads, undefined)
      if (follower.isUpToDate(head)) return
      const nextPage = logClient.awaited.until(head)
      bell.ring()
      await nextPage
    }, flightGapOf(parts)),
    drop: (streams) => enqueue(drops, streams),
    unseen: logClient.unseen,
    lost: logClient.lost,
    close: async () => {
      isClosed = true
      bell.ring()
      await working
      for (const { reject } of pendingReads) reject(new Error("the log is closed"))
      logClient.awaited.fail(new Error("the log is closed"))
      await shared.close()
      await local.close()
    },
  }
}

const flightGapOf = ({ now, sleep }: FollowingLogOptions) => ({ ms: sharedReadGapMs, now, sleep })

/** Positions announced by other nodes that are not read here yet. */
function createAnnouncements({ follower, now }: FollowingLogOptions) {
  let upTo = 0
  let since = 0
  return {
    note: (position: number) => {
      if (upTo <= follower.place().position) since = now()
      upTo = Math.max(upTo, position || Number.MAX_SAFE_INTEGER)
    },
    /** Milliseconds until they must be read; infinite if everything is here. */
    dueIn: () => {
      if (upTo <= follower.place().position) return Number.POSITIVE_INFINITY
      return Math.max(since + announcedMs - now(), 0)
    },
    taken: () => {
      upTo = 0
    },
  }
}

/** Reads the log and tracks how recent the copy is. */
function createLogReader(parts: FollowingLogOptions) {
  const { shared, follower, now } = parts
  let seenAt = Number.NEGATIVE_INFINITY
  let cause: unknown
  const awaited = createHeadWaiters(follower)
  const markSeen = (startedAt: number) => {
    seenAt = startedAt
    cause = undefined
    parts.found()
  }
  /** Requests the page after this one while this one is applied; undefined if it was the last. */
  const prefetch = ({ upTo }: LogPage, head: LogPage["head"]): Promise<LogPage> | undefined => {
    if (upTo.position >= head.position && upTo.number >= head.number) return undefined
    const nextPage = shared.read(upTo)
    // If the previous page can't be applied, nothing uses this one.
    nextPage.catch(() => undefined)
    return nextPage
  }
  const takeAll = async (first: LogPage, folded?: ReadonlyMap<number, readonly FoldedStream[]>) => {
    let nextPage = prefetch(first, first.head)
    await follower.apply(first, folded)
    while (!follower.isUpToDate(first.head)) {
      const page = await (nextPage ?? shared.read(follower.place()))
      nextPage = prefetch(page, first.head)
      await follower.apply(page)
    }
    awaited.came()
  }
  return {
    awaited,
    seen: markSeen,
    takeAll,
    unseen: () => now() - seenAt,
    lost: () => cause,
    lose: (reason: unknown) => {
      cause = reason
      parts.lost(reason)
    },
    read: async () => {
      const startedAt = now()
      await takeAll(await shared.read(follower.place()))
      markSeen(startedAt)
    },
    /** The head of the log; marks the copy as current if it matches. */
    head: async () => {
      const startedAt = now()
      const head = await shared.head(follower.place())
      requireSynchronizedClock(parts.clock.now(), head.time)
      if (head.isSame && follower.isUpToDate(head)) markSeen(startedAt)
      return head
    },
  }
}

/** The requests to the log, one after the other. */
function createLogClient(parts: FollowingLogOptions) {
  const { shared, follower, now, faultOf } = parts
  const logReader = createLogReader(parts)
  const rejectAll = (requests: readonly Rejectable[], cause: unknown) => {
    const fault = faultOf(cause) ?? cause
    for (const { reject } of requests) reject(fault)
    return fault
  }
  /** Returns the milliseconds until the next read. */
  const readLog = async (requests: readonly PendingRequest<undefined, void>[]): Promise<number> => {
    try {
      await logReader.read()
      for (const { resolve } of requests) resolve()
      return pollMs
    } catch (cause) {
      const fault = rejectAll(requests, cause)
      logReader.awaited.fail(fault)
      logReader.lose(fault)
      return retryMs
    }
  }
  return {
    unseen: logReader.unseen,
    lost: logReader.lost,
    head: logReader.head,
    awaited: logReader.awaited,
    look: readLog,
    drop: async (requests: PendingRequest<readonly StreamRemoval[], void>) => {
      try {
        await shared.drop(requests.input)
        await logReader.read()
        requests.resolve()
      } catch (cause) {
        rejectAll([requests], cause)
      }
    },
    send: async (
      requests: readonly PendingRequest<Append, AppendResult>[],
      pendingReads: readonly PendingRequest<undefined, void>[],
    ) => {
      const startedAt = now()
      const batch = await rehearseBatch(parts, requests)
      if (batch.length === 0) {
        await readLog(pendingReads)
        return
      }
      const batchSteps = batch.map(({ input }) => input)
      try {
        const { outcomes, page } = await shared.append(batchSteps, follower.place())
        await logReader.takeAll(page, foldedByPosition(batchSteps, outcomes, page))
        logReader.seen(startedAt)
        answerBatch(parts, batch, outcomes)
        for (const { resolve } of pendingReads) resolve()
      } catch (cause) {
        rejectAll([...batch, ...pendingReads], cause)
      }
    },
  }
}

type PendingRequest<Input, Answer> = {
  readonly input: Input
  readonly resolve: (answer: Answer) => void
  readonly reject: (cause: unknown) => void
}

type Rejectable = { readonly reject: (cause: unknown) => void }

/** Callers that wait until the file has reached a head. */
function createHeadWaiters({ isUpToDate }: Follower) {
  let waiting: readonly PendingRequest<LogPage["head"], void>[] = []
  return {
    any: () => waiting.length > 0,
    until: (head: LogPage["head"]): Promise<void> =>
      new Promise((resolve, reject) => {
        waiting = [...waiting, { input: head, resolve, reject }]
      }),
    came: () => {
      const reached = waiting.filter(({ input }) => isUpToDate(input))
      waiting = waiting.filter(({ input }) => !isUpToDate(input))
      for (const { resolve } of reached) resolve()
    },
    fail: (cause: unknown) => {
      const failed = waiting
      waiting = []
      for (const { reject } of failed) reject(cause)
    },
  }
}

/** The transactions that reducers accept; the callers of the others receive the fault. */
async function rehearseBatch(
  { local, follower, reduce, faultOf }: FollowingLogOptions,
  batch: readonly PendingRequest<Append, AppendResult>[],
): Promise<readonly PendingRequest<Append, AppendResult>[]> {
  const accepted: PendingRequest<Append, AppendResult>[] = []
  const { position } = follower.place()
  for (const request of batch) {
    const placed = request.input.events.map((event, index) => ({
      ...event,
      position: position + index + 1,
    }))
    try {
      const conflict = await local.rehearse(request.input, () => placed.forEach(reduce))
      // Events of other nodes since the decision are already here: the log need not be asked.
      if (conflict) request.resolve(conflict)
      else accepted.push(request)
    } catch (cause) {
      request.reject(faultOf(cause) ?? cause)
    }
  }
  return accepted
}

/**
 * The states that decisions have folded, by the final position of their last event. If the last
 * events of a transaction arrive in a later page, its events are folded one by one, because the
 * rows here are complete by then.
 */
function foldedByPosition(
  steps: readonly Append[],
  outcomes: readonly AppendOutcome[],
  { upTo }: LogPage,
): ReadonlyMap<number, readonly FoldedStream[]> {
  const folded = new Map<number, readonly FoldedStream[]>()
  for (const [index, step] of steps.entries()) {
    const outcome = outcomes[index]
    if (outcome?.kind !== "appended" || !step.folded) continue
    if (outcome.position > upTo.position) continue
    const first = outcome.position - step.events.length + 1
    for (const at of step.events.keys()) folded.set(first + at, step.folded)
  }
  return folded
}

/** Answers all callers of a batch. */
function answerBatch(
  { follower, appended, faultOf }: FollowingLogOptions,
  batch: readonly PendingRequest<Append, AppendResult>[],
  outcomes: readonly AppendOutcome[],
): void {
  const { position } = follower.place()
  for (const [index, { input, resolve, reject }] of batch.entries()) {
    const outcome = outcomes[index]
    if (outcome?.kind === "early") {
      reject(nodesOlderError(outcome.type))
      continue
    }
    if (outcome?.kind === "refused") {
      reject(faultOf(outcome.cause) ?? outcome.cause)
      continue
    }
    const result = toAppendResult(input, outcome, position)
    if (result.kind === "appended") appended?.(input.events)
    resolve(result)
  }
}

const nodesOlderError = (type: string) =>
  new Fault(
    "unavailable",
    nodesOlderId,
    "nodes of an older version are still running and can't read what this writes " +
      `(${type}); try again after all of them are upgraded`,
  )

function toAppendResult(
  step: Append,
  outcome: Exclude<AppendOutcome, { kind: "early" | "refused" }> | undefined,
  position: number,
): AppendResult {
  if (outcome?.kind === "taken") {
    const claim = step.claims[outcome.claim]
    if (claim) return { kind: "taken", claim }
  } else if (outcome) {
    return step.events.length > 0 || outcome.kind === "conflict"
      ? outcome
      : { kind: "appended", position }
  }
  throw new Error("PostgreSQL returned the result of another batch")
}
