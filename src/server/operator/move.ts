import type { Start } from "../../boot/running.ts"
import { systemClock } from "../../kernel/clock.ts"
import { randomToken, systemRandom } from "../../kernel/crypto/random.ts"
import { fingerprint } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import {
  type Moved,
  type Moving,
  postgres,
  shareReactorState,
  workLease,
} from "../../store/index.ts"
import { aggregates } from "../modules.ts"
import { joinServices } from "../services.ts"

/** What is started, with the database that the log goes to or comes from. */
export type MoveStart = Start & { readonly url: string }

/** Moves the log of a data folder into PostgreSQL; the folder is that of a node then. */
export const moveIn = async (start: MoveStart): Promise<Moved> =>
  (await postgres()).moveToPostgres(movingOf(start))

/** Moves the log in PostgreSQL into a data folder: that of a node, or an empty one. */
export async function moveOut(start: MoveStart): Promise<Moved> {
  try {
    await fetchAll(start)
  } catch (cause) {
    // It was cut off after it had been taken out; what is left is found there.
    if (!(cause instanceof Fault) || cause.id !== "store.database_moved") throw cause
  }
  const { moveFromPostgres } = await postgres()
  return moveFromPostgres(movingOf(start))
}

const movingOf = ({ folder, master, url }: MoveStart): Moving => ({
  file: folder.database,
  aggregates,
  url,
  clock: systemClock,
  fingerprint: fingerprint(master),
  fresh: () => randomToken(systemRandom, 16),
})

/** Longer than it takes to begin with the rest: no node begins to work meanwhile. */
const leaseMs = 10_000

async function fetchAll(start: MoveStart): Promise<void> {
  const { store } = await joinServices({
    ...start,
    config: { ...start.config, database: start.url },
  })
  try {
    const { node } = store
    if (!node) throw new Error("the store follows no log")
    if (!(await node.lease(workLease, leaseMs))) throw runningError()
    await node.caughtUp()
    await shareReactorState(store, node, false)
  } finally {
    await store.close()
  }
}

const runningError = () =>
  new Fault(
    "failed_precondition",
    "move.running",
    "a node runs on that database; stop all of them, wait for five seconds, and try again",
  )
