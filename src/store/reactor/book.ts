import type { Database } from "bun:sqlite"
import type { LogEvent } from "../log/log.ts"
import type { FailedSelection } from "../shared/shared-log.ts"
import type { Store } from "../store.ts"
import type { FailedEvent, Reactor } from "./reactor.ts"

/**
 * When a failed event is tried again, in ms after it failed last: what is restarted, or moved, has
 * hours for it. Longer than half a day would be of no use, for streams that ended are dropped then.
 */
export const again = { checked: 10_000, first: 30_000, most: 1_800_000, failuresMax: 30 } as const

/** What reactors have gone on without, the oldest first; of one instance where it is named. */
export const failedEvents = ({ database }: Store, instance?: string): readonly FailedEvent[] =>
  database
    .query<FailedEvent, [string | null]>(
      "SELECT * FROM failed_event WHERE ?1 IS NULL OR instance = ?1 ORDER BY position, reactor",
    )
    .all(instance ?? null)

export type FailureSummary = {
  readonly count: number
  /** When one failed last, ms UTC. */
  readonly last: number
  /** Why that one did. */
  readonly error: string
  /** When one is tried again next, ms UTC; undefined where all were given up. */
  readonly next: number | undefined
}

/** What a reactor has failed at, by a text that the errors contain; undefined for nothing. */
export function failureSummary(
  { database }: Store,
  { instance, reactor, text }: Record<"instance" | "reactor" | "text", string>,
): FailureSummary | undefined {
  const found = database
    .query<Omit<FailureSummary, "next"> & { next: number | null }, [string, string, string]>(
      // SQLite takes the other columns from the row of the only max().
      `SELECT count(*) AS count, max(last) AS last, error,
         (SELECT min(last + min(${again.first} << (failures - 1), ${again.most}))
            FROM failed_event WHERE instance = ?1 AND reactor = ?2 AND instr(error, ?3) > 0
              AND failures < ${again.failuresMax}) AS next
       FROM failed_event WHERE instance = ?1 AND reactor = ?2 AND instr(error, ?3) > 0`,
    )
    .get(instance, reactor, text)
  if (!found || found.count === 0) return undefined
  return { ...found, next: found.next ?? undefined }
}

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
export const wakers = new WeakMap<Database, () => void>()

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

export type Book = ReturnType<typeof bookOf>

/** Positions and failures. Both may lag behind the work: at-least-once is the promise. */
export function bookOf(store: Store) {
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
