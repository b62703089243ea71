import type { Logger } from "@logtape/logtape"
import { type Clock, systemClock, within } from "../../kernel/clock.ts"
import { Fault, reasonText } from "../../kernel/fault.ts"
import { type Node, type Store, shareReactorState, workLease } from "../../store/index.ts"
import { keepRounds } from "../background/round.ts"

/** Whoever is gone without a word is missed for so long. */
const leaseMs = 5000
/** Whoever was kept from renewing it stops so long before another one begins. */
const marginMs = 1500
const everyMs = 1000
/** A node that has not seen the end of the log for so long doesn't know what was revoked. */
const unseenMaxMs = 1000

type Parts = {
  readonly store: Store
  readonly log: Logger
  readonly clock: Clock
}

/** Whether this node is the one that works: that sends, rotates, drops. */
export type Lead = {
  /** True where there is no other. Asked before each piece of work, for it may be lost. */
  readonly holds: () => boolean
  /** Tries for it, now and each second; resolves when it was tried once. */
  readonly begin: () => Promise<void>
  /** Gives it back. */
  readonly stop: () => Promise<void>
}

export function leadOf({ store, log, clock }: Parts): Lead {
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
    // Whoever may not answer doesn't work either.
    await node.caughtUp()
    const asked = performance.now()
    const isOurs = await node.lease(workLease, leaseMs)
    // It begins where the node before it has ended.
    if (isOurs && !holds()) await caughtUp(store, node)
    until = isOurs ? asked + leaseMs - marginMs : Number.NEGATIVE_INFINITY
    if (isOurs !== isHeld) log.info(isOurs ? works : follows)
    isHeld = isOurs
    await shareReactorState(store, node, holds())
    // For those who look after it.
    await node.nodes()
  }
  const round = () =>
    renew().catch((cause) =>
      log.warning("the lease of this node was not renewed: {cause}", { cause: reasonText(cause) }),
    )
  let keeping: { readonly stop: () => Promise<void> } | undefined
  return {
    holds,
    begin: async () => {
      await round()
      keeping = keepRounds(clock, everyMs, round)
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
        log.warning("the next node waits for some seconds: {cause}", { cause: reasonText(cause) }),
      )
    },
  }
}

const works = "this node works: it sends, rotates keys and drops what has expired"
const follows = "another node works; this one answers, and takes over when it is gone"

async function caughtUp(store: Store, node: Node): Promise<void> {
  await node.caughtUp()
  await shareReactorState(store, node, false)
}

/** Why nothing may be answered that others may have made void meanwhile; undefined where it may. */
export function staleFault({ node }: Store): Fault | undefined {
  return !node || node.unseen() <= unseenMaxMs ? undefined : unseenFault()
}

function lostFault(node: Node): Fault {
  const cause = node.lost()
  return cause instanceof Fault && cause.code === "unavailable" ? cause : unseenFault()
}

/** How long somebody waits until this node has what was written before they asked. */
const patienceMs = 4000
/** The same where the log can't be followed: it may be back just now. */
const graceMs = 100

/**
 * Resolves when this node has all that the log had when this was called: whatever somebody was told
 * by any of the nodes, or was taken from somebody by any of them, this one then knows. Every answer
 * waits for it; those that come together are answered by one look. Faults where the log can't be
 * asked.
 */
export async function confirmed(
  { node, worker }: Pick<Store, "node"> & Partial<Pick<Store, "worker">>,
  { headers }: Pick<Request, "headers">,
  clock: Clock = systemClock,
) {
  if (worker) return arrived(worker)
  if (!node || asked.has(headers)) return
  const isLost = node.lost() !== undefined || node.unseen() > unseenMaxMs
  const late = () => lostFault(node)
  await within(clock, isLost ? graceMs : patienceMs, { work: node.caughtUp(), late })
  asked.add(headers)
}

/**
 * What was told to anybody is in the file by now, and seen from here on; while the writer begins
 * the WAL anew, nobody reads.
 */
async function arrived(worker: NonNullable<Store["worker"]>): Promise<void> {
  for (let held = worker.held(); held; held = worker.held()) await held
  worker.renew()
}

/** Requests that have waited, by their headers: calls of the interface come by two doors. */
const asked = new WeakSet<Headers>()

/** The second one is the first one, with other headers: it need not wait once more. */
export function sameAsked(first: Pick<Request, "headers">, second: Pick<Request, "headers">): void {
  if (asked.has(first.headers)) asked.add(second.headers)
}

const unseenFault = () =>
  new Fault(
    "unavailable",
    "store.log_unseen",
    "this node has not heard from its database for over a second, and can't know what was " +
      "revoked meanwhile; try again soon",
  )
