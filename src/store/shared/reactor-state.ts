import type { Store } from "../store.ts"
import type { Node } from "../store-parts.ts"
import { readMeta } from "./node.ts"
import type { SharedFailure } from "./shared-log.ts"

/**
 * Synchronizes the positions and failures of reactors from the leader, so that every node can show
 * them and continue from there. The leader also publishes its own.
 */
export async function shareReactorState(
  store: Store,
  node: Pick<Node, "reached" | "failures">,
  isWorking: boolean,
): Promise<void> {
  const { database, exclusive } = store
  const localPositions = database
    .query<{ name: string; position: number }, []>("SELECT name, position FROM reactor")
    .all()
  const published = isWorking
    ? new Map(localPositions.map(({ name, position }) => [name, position]))
    : new Map()
  const furthest = await node.reached(published)
  const failures = await node.failures()
  const outdated = [...furthest].filter(
    ([name, position]) =>
      (localPositions.find((each) => each.name === name)?.position ?? -1) < position,
  )
  const hasAdvanced = formatFailures(failures) !== formatFailures(readFailures(store))
  if (outdated.length === 0 && !hasAdvanced) return
  const move = database.query<unknown, [string, number]>(
    `INSERT INTO reactor (name, position) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET position = max(position, excluded.position)`,
  )
  await exclusive(() => {
    for (const [name, position] of outdated) move.run(name, position)
    if (hasAdvanced) storeFailures(store, failures)
  })
}

/** The progress of work that follows the log, shared between nodes. */
export type SharedProgress = {
  readonly position: number
  /** Additional state of this node; empty if there is none. */
  readonly note: string
}

export const readProgress = ({ database }: Store, name: string): SharedProgress => ({
  position:
    database
      .query<{ position: number }, [string]>("SELECT position FROM reactor WHERE name = ?")
      .get(name)?.position ?? 0,
  note: readMeta(database, name) ?? "",
})

/** Stores the progress; all nodes receive the position, which never decreases. */
export async function storeProgress(
  { database, exclusive, node }: Store,
  name: string,
  { position, note }: SharedProgress,
): Promise<void> {
  const move = database.query<unknown, [string, number]>(
    `INSERT INTO reactor (name, position) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET position = max(position, excluded.position)`,
  )
  const keep = database.query<unknown, [string, string]>(
    "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
  )
  await exclusive(() =>
    database.transaction(() => {
      move.run(name, position)
      keep.run(name, note)
    })(),
  )
  await node?.reached(new Map([[name, position]]))
}

const readFailures = ({ database }: Store): readonly SharedFailure[] =>
  database.query<SharedFailure, []>("SELECT * FROM failed_event").all()

const formatFailures = (failures: readonly SharedFailure[]): string =>
  failures
    .map(
      ({ reactor, position, failures: count, last }) => `${reactor}/${position}/${count}/${last}`,
    )
    .sort()
    .join()

function storeFailures({ database }: Store, failures: readonly SharedFailure[]): void {
  const add = database.query<unknown, (string | number)[]>(
    `INSERT INTO failed_event (reactor, position, instance, failures, error, last)
     VALUES (?, ?, ?, ?, ?, ?)`,
  )
  database.transaction(() => {
    database.run("DELETE FROM failed_event")
    for (const { reactor, position, instance, failures: count, error, last } of failures) {
      add.run(reactor, position, instance, count, error, last)
    }
  })()
}
