import type { Logger } from "@logtape/logtape"
import { type Clock, pause } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import { type Node, type Store, shareReactorPositions } from "../../store/index.ts"
import { keepRounds } from "../background/round.ts"

/** One node at a time answers and works; the others follow, and one takes over when it is gone. */
const name = "serve"
/** Whoever is gone without a word is missed for so long. */
const leaseMs = 5000
const everyMs = 1000
/** A node that has not seen the end of the log for so long doesn't know what was revoked. */
const unseenMaxMs = 1000

type Parts = {
  readonly store: Store
  readonly log: Logger
  readonly clock: Clock
}

/** Waits until no other node serves; this one then has all that those before it did. */
export async function lead({ store, log }: Parts): Promise<void> {
  const { node } = store
  if (!node) return
  let isSaid = false
  while (!(await node.lease(name, leaseMs))) {
    if (!isSaid) log.info("another node serves; this one follows, and takes over when it is gone")
    isSaid = true
    await pause(everyMs)
  }
  await node.caughtUp()
  await shareReactorPositions(store, node)
}

/** Keeps the place until it is stopped, then gives it back. Ends the process that has lost it. */
export function keepLeading(parts: Parts): { readonly stop: () => Promise<void> } {
  const { store, log, clock } = parts
  const { node } = store
  if (!node) return { stop: () => Promise.resolve() }
  const rounds = keepRounds(clock, everyMs, () =>
    renew(store, node, log).catch((cause) =>
      log.warning("the lease of this node was not renewed: {cause}", { cause: String(cause) }),
    ),
  )
  return {
    stop: async () => {
      await rounds.stop()
      await leave(store, node).catch((cause) =>
        log.warning("the next node waits for some seconds: {cause}", { cause: String(cause) }),
      )
    },
  }
}

async function renew(store: Store, node: Node, log: Logger): Promise<void> {
  if (!(await node.lease(name, leaseMs))) {
    log.fatal("another node has taken over, because this one was not heard of; stopping")
    process.exit(1)
  }
  await shareReactorPositions(store, node)
}

async function leave(store: Store, node: Node): Promise<void> {
  await shareReactorPositions(store, node)
  await node.lease(name, 0)
}

/**
 * Why nothing may be answered that others may have made void meanwhile; undefined where it may. Who
 * must answer looks again first: a machine that is busy is no reason to refuse anybody.
 */
export function staleFault({ node }: Store): Fault | undefined {
  if (!node || node.unseen() <= unseenMaxMs) return undefined
  return new Fault(
    "unavailable",
    "store.log_unseen",
    "this node has not heard from its database for over a second, and can't know what was " +
      "revoked meanwhile; try again soon",
  )
}
