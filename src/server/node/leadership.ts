import type { Logger } from "@logtape/logtape"
import { type Clock, systemClock, withTimeout } from "../../kernel/clock.ts"
import { errorText, Fault } from "../../kernel/fault.ts"
import { type Node, type Store, shareReactorState, workLease } from "../../store/index.ts"
import { startRepeating } from "../background/repeat.ts"

/** The lease time, after which a node that stopped unexpectedly is replaced. */
const leaseMs = 5000
/** A node that can't renew its lease stops working this long before another one starts. */
const marginMs = 1500
const renewIntervalMs = 1000
/** A node that has not seen the end of the log for this long can't know what was revoked. */
const unseenMaxMs = 1000

type Parts = {
  readonly store: Store
  readonly log: Logger
  readonly clock: Clock
}

/** Whether this node is the leader, which sends messages, rotates keys and deletes expired data. */
export type Leadership = {
  /** True for a single server. Checked before each task because the lease can be lost. */
  readonly holds: () => boolean
  /** Tries to acquire the lease now and every second; resolves after the first attempt. */
  readonly begin: () => Promise<void>
  /** Releases the lease. */
  readonly stop: () => Promise<void>
}

export function createLeadership({ store, log, clock }: Parts): Leadership {
  const { node, worker } = store
  if (worker) {
    return { holds: () => false, begin: () => Promise.resolve(), stop: () => Promise.resolve() }
  }
  if (!node) {
    return { holds: () => true, begin: () => Promise.resolve(), stop: () => Promise.resolve() }
  }
  let until = Number.NEGATIVE_INFINITY
  let isHeld = false
  const holds = () => performance.now() < until
  const renew = async () => {
    // A node that can't respond must not work either.
    await node.caughtUp()
    const asked = performance.now()
    const isOurs = await node.lease(workLease, leaseMs)
    // Starts where the previous leader stopped.
    if (isOurs && !holds()) await waitUntilCurrent(store, node)
    until = isOurs ? asked + leaseMs - marginMs : Number.NEGATIVE_INFINITY
    if (isOurs !== isHeld) log.info(isOurs ? leaderText : followerText)
    isHeld = isOurs
    await shareReactorState(store, node, holds())
    // Updates the list of nodes for monitoring.
    await node.nodes()
  }
  const round = () =>
    renew().catch((cause) =>
      log.warning("the lease of this node could not be renewed: {cause}", {
        cause: errorText(cause),
      }),
    )
  let keeping: { readonly stop: () => Promise<void> } | undefined
  return {
    holds,
    begin: async () => {
      await round()
      keeping = startRepeating(clock, renewIntervalMs, round)
    },
    stop: async () => {
      await keeping?.stop()
      if (!holds()) return
      until = Number.NEGATIVE_INFINITY
      const leave = async () => {
        await shareReactorState(store, node, true)
        await node.lease(workLease, 0)
      }
      await leave().catch((cause) =>
        log.warning("the next leader starts some seconds later: {cause}", {
          cause: errorText(cause),
        }),
      )
    },
  }
}

const leaderText =
  "this node is the leader: it sends messages, rotates keys and deletes expired data"
const followerText = "another node is the leader; this node serves requests and can take over"

async function waitUntilCurrent(store: Store, node: Node): Promise<void> {
  await node.caughtUp()
  await shareReactorState(store, node, false)
}

/** The fault if changes of other nodes could be missing; undefined if the node is current. */
export function staleFault({ node }: Store): Fault | undefined {
  return !node || node.unseen() <= unseenMaxMs ? undefined : unseenFault()
}

function lostFault(node: Node): Fault {
  const cause = node.lost()
  return cause instanceof Fault && cause.code === "unavailable" ? cause : unseenFault()
}

/** How long a request waits until this node has the previous events. */
const waitMsMax = 4000
/** The same if the log is not available; it may be back in a moment. */
const unavailableWaitMs = 100

/**
 * Resolves when this node has all events that the log had at the time of the call, so that it has
 * everything that other nodes returned or revoked. Every response waits for it; concurrent calls
 * share one query. Throws if the log can't be queried.
 */
export async function waitForCurrentLog(
  { node, worker }: Pick<Store, "node"> & Partial<Pick<Store, "worker">>,
  { headers }: Pick<Request, "headers">,
  clock: Clock = systemClock,
) {
  if (worker) return waitForWriter(worker)
  if (!node || awaitedRequests.has(headers)) return
  const isLost = node.lost() !== undefined || node.unseen() > unseenMaxMs
  const late = () => lostFault(node)
  await withTimeout(clock, isLost ? unavailableWaitMs : waitMsMax, {
    work: node.caughtUp(),
    timeoutError: late,
  })
  awaitedRequests.add(headers)
}

/**
 * Everything that was returned to clients is in the file and visible from here on; while the writer
 * resets the WAL, nothing can be read.
 */
async function waitForWriter(worker: NonNullable<Store["worker"]>): Promise<void> {
  for (let writerPause = worker.held(); writerPause; writerPause = worker.held()) await writerPause
  worker.renew()
}

/** Requests that have waited, by their headers: API calls pass two entry points. */
const awaitedRequests = new WeakSet<Headers>()

/** Marks a request with changed headers as the same, so that it does not wait again. */
export function markSameRequest(
  first: Pick<Request, "headers">,
  second: Pick<Request, "headers">,
): void {
  if (awaitedRequests.has(first.headers)) awaitedRequests.add(second.headers)
}

const unseenFault = () =>
  new Fault(
    "unavailable",
    "store.log_unseen",
    "this node has not reached its database for over a second, so revocations could be " +
      "missing; try again soon",
  )
