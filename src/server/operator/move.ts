import type { StartInput } from "../../boot/running.ts"
import { systemClock } from "../../kernel/clock.ts"
import { randomToken, systemRandom } from "../../kernel/crypto/random.ts"
import { fingerprint } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import {
  loadPostgres,
  type MoveOptions,
  type MoveResult,
  shareReactorState,
  workLease,
} from "../../store/index.ts"
import { aggregates } from "../modules.ts"
import { joinServices } from "../services.ts"

/** The input for a move, with the source or destination database. */
export type MoveStart = StartInput & { readonly url: string }

/** Moves the event log of a data directory to PostgreSQL; the directory becomes that of a node. */
export const moveLogToPostgres = async (start: MoveStart): Promise<MoveResult> =>
  (await loadPostgres()).moveToPostgres(moveInputOf(start))

/** Moves the event log from PostgreSQL to a data directory: that of a node, or an empty one. */
export async function moveLogFromPostgres(start: MoveStart): Promise<MoveResult> {
  try {
    await fetchLog(start)
  } catch (cause) {
    // An earlier move was interrupted after it took the log out; the rest is found there.
    if (!(cause instanceof Fault) || cause.id !== "store.database_moved") throw cause
  }
  const { moveFromPostgres } = await loadPostgres()
  return moveFromPostgres(moveInputOf(start))
}

const moveInputOf = ({ folder, master, url }: MoveStart): MoveOptions => ({
  file: folder.database,
  aggregates,
  url,
  clock: systemClock,
  fingerprint: fingerprint(master),
  fresh: () => randomToken(systemRandom, 16),
})

/** Longer than the remaining steps take, so that no node becomes the leader. */
const leaseMs = 10_000

async function fetchLog(start: MoveStart): Promise<void> {
  const { store } = await joinServices({
    ...start,
    config: { ...start.config, database: start.url },
  })
  try {
    const { node } = store
    if (!node) throw new Error("the store has no shared log")
    if (!(await node.lease(workLease, leaseMs))) throw nodeRunningError()
    await node.caughtUp()
    await shareReactorState(store, node, false)
  } finally {
    await store.close()
  }
}

const nodeRunningError = () =>
  new Fault(
    "failed_precondition",
    "move.running",
    "a node is running on this database; stop all nodes, wait five seconds, and try again",
  )
