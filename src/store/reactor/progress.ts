import type { Database } from "bun:sqlite"
import type { LogEvent } from "../log/log.ts"
import type { FailedSelection } from "../shared/shared-log.ts"
import type { Store } from "../store.ts"
import type { FailedEvent, Reactor } from "./reactor.ts"

/**
 * Retry schedule of failed events, in ms after the last failure: services have hours to recover.
 * More than half a day would be useless, because ended streams are pruned then.
 */
export const retrySchedule = {
  checked: 10_000,
  first: 30_000,
  most: 1_800_000,
  failuresMax: 30,
} as const

/** Events that reactors have skipped, oldest first; of one instance if given. */
export const listFailedEvents = ({ database }: Store, instance?: string): readonly FailedEvent[] =>
  database
    .query<FailedEvent, [string | null]>(
      "SELECT * FROM failed_event WHERE ?1 IS NULL OR instance = ?1 ORDER BY position, reactor",
    )
    .all(instance ?? null)

export type FailureSummary = {
  readonly count: number
  /** When an event last failed, ms UTC. */
  readonly last: number
  /** The error of that event. */
  readonly error: string
  /** When an event is retried next, ms UTC; undefined if all were given up. */
  readonly next: number | undefined
}

/** Failures of a reactor whose error contains a text; undefined if there are none. */
export function summarizeFailures(
  { database }: Store,
  { instance, reactor, text }: Record<"instance" | "reactor" | "text", string>,
): FailureSummary | undefined {
  const found = database
    .query<Omit<FailureSummary, "next"> & { next: number | null }, [string, string, string]>(
      // SQLite takes the other columns from the row of the only max().
      `SELECT count(*) AS count, max(last) AS last, error,
         (SELECT min(last + min(${retrySchedule.first} << (failures - 1), ${retrySchedule.most}))
            FROM failed_event WHERE instance = ?1 AND reactor = ?2 AND instr(error, ?3) > 0
              AND failures < ${retrySchedule.failuresMax}) AS next
       FROM failed_event WHERE instance = ?1 AND reactor = ?2 AND instr(error, ?3) > 0`,
    )
    .get(instance, reactor, text)
  if (!found || found.count === 0) return undefined
  return { ...found, next: found.next ?? undefined }
}

/** Removes an event from the failed events: it is not retried, and stays in the log. */
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

/** Wakes the retriers of a store. */
export const retryWakers = new WeakMap<Database, () => void>()

/**
 * Retries failed events immediately, including those given up, each by its own reactor; returns
 * their number. Those that fail again stay in the list.
 */
export async function retryFailedEvents(store: Store, selection: FailedSelection): Promise<number> {
  if (store.worker) return store.worker.writer.retryFailed(selection)
  const { instance, reactor, position } = selection
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
  retryWakers.get(store.database)?.()
  return marked
}

export type ReactorProgress = ReturnType<typeof createProgress>

/** Positions and failures of reactors. Both may lag behind the work: delivery is at least once. */
export function createProgress(store: Store) {
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
       OR failures < ${retrySchedule.failuresMax}
         AND last + min(${retrySchedule.first} << (failures - 1), ${retrySchedule.most}) <= ?)
     ORDER BY last LIMIT ?`,
  )
  return {
    isKnown: (name: string) => at.get(name) !== null,
    position: (name: string) => at.get(name)?.position ?? 0,
    reached: (name: string, position: number) => void move.run(name, position),
    failure: async (reactor: Reactor, event: LogEvent, failure: { error: string; now: number }) => {
      const { position, instance } = event
      const { error, now: last } = failure
      await store.node?.failed({ reactor: reactor.name, position, instance, error, last })
      await store.exclusive(
        () =>
          void fail.run(reactor.name, event.position, event.instance, failure.error, failure.now),
      )
    },
    remove: (name: string, position: number) => removeFailedEvent(store, name, position),
    all: () => listFailedEvents(store),
    failures: (name: string) => failures.get(name)?.count ?? 0,
    due: (name: string, now: number, most: number) =>
      due.all(name, now, most).map(({ position }) => position),
  }
}
