import type { Store } from "../store.ts"
import type { Node } from "../store-parts.ts"
import { metaOf } from "./node.ts"
import type { SharedFailure } from "./shared-log.ts"

/**
 * Learns how far reactors have come on whichever node works, and what they went on without; so that
 * every node can show it, and go on from there. The one that works also tells it.
 */
export async function shareReactorState(
  store: Store,
  node: Pick<Node, "reached" | "failures">,
  isWorking: boolean,
): Promise<void> {
  const { database, exclusive } = store
  const own = database
    .query<{ name: string; position: number }, []>("SELECT name, position FROM reactor")
    .all()
  const told = isWorking ? new Map(own.map(({ name, position }) => [name, position])) : new Map()
  const furthest = await node.reached(told)
  const failures = await node.failures()
  const behind = [...furthest].filter(
    ([name, position]) => (own.find((each) => each.name === name)?.position ?? -1) < position,
  )
  const isNews = failuresText(failures) !== failuresText(failuresIn(store))
  if (behind.length === 0 && !isNews) return
  const move = database.query<unknown, [string, number]>(
    `INSERT INTO reactor (name, position) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET position = max(position, excluded.position)`,
  )
  await exclusive(() => {
    for (const [name, position] of behind) move.run(name, position)
    if (isNews) keepFailures(store, failures)
  })
}

/** How far something has come that goes on with the log, on whichever node. */
export type Progress = {
  readonly position: number
  /** What this node needs beside that to go on; empty where it has noted nothing. */
  readonly note: string
}

export const progressOf = ({ database }: Store, name: string): Progress => ({
  position:
    database
      .query<{ position: number }, [string]>("SELECT position FROM reactor WHERE name = ?")
      .get(name)?.position ?? 0,
  note: metaOf(database, name) ?? "",
})

/** Notes it; every node learns the position, which never goes back. */
export async function keepProgress(
  { database, exclusive, node }: Store,
  name: string,
  { position, note }: Progress,
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

const failuresIn = ({ database }: Store): readonly SharedFailure[] =>
  database.query<SharedFailure, []>("SELECT * FROM failed_event").all()

const failuresText = (failures: readonly SharedFailure[]): string =>
  failures
    .map(
      ({ reactor, position, failures: count, last }) => `${reactor}/${position}/${count}/${last}`,
    )
    .sort()
    .join()

function keepFailures({ database }: Store, failures: readonly SharedFailure[]): void {
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
