import { Database } from "bun:sqlite"
import { copyFileSync, rmSync } from "node:fs"
import { aggregates, views } from "../../src/server/rooms.ts"
import { type AnyAggregate, openStore, type Store, type View } from "../../src/store/index.ts"

type Rooms = { readonly aggregates: readonly AnyAggregate[]; readonly views: readonly View[] }

/** Opens a database with all rooms, outside of a server. */
export function openRooms(file: string, rooms: Rooms = { aggregates, views }): Store {
  const refuse = (cause: unknown) => {
    throw cause
  }
  return openStore({ ...rooms, file, fatal: refuse, notReady: (_, cause) => refuse(cause) })
}

/**
 * Makes all read models anew on a copy of a database that nobody has open, and answers the
 * first differences from the live rows; so for the states, which are folded anew from the log.
 */
export async function replayDifferences(file: string, rooms?: Rooms): Promise<readonly string[]> {
  const copy = `${file}.replay`
  const live = await dumpOf(file, rooms)
  copyFileSync(file, copy)
  const stale = new Database(copy)
  stale.run("UPDATE view SET hash = ''")
  stale.close()
  const again = await dumpOf(copy, rooms)
  rmSync(copy)
  const all = [...new Set([...live, ...again])]
  return all.filter((line) => !live.has(line) || !again.has(line)).slice(0, 20)
}

/** Every row of every view and state by its text, and whether its state follows from the log. */
async function dumpOf(file: string, rooms?: Rooms): Promise<ReadonlySet<string>> {
  const store = openRooms(file, rooms)
  await store.rebuilt()
  const { database } = store
  const lines = new Set<string>()
  const current = database
    .query<{ generation: number; tables: string }, []>("SELECT generation, tables FROM view")
    .all()
  for (const { generation, tables } of current) {
    for (const table of Object.keys(JSON.parse(tables))) {
      const rows = database.query(`SELECT * FROM ${table}_${generation}`).all()
      for (const row of rows) lines.add(`${table} ${JSON.stringify(row)}`)
    }
  }
  for (const line of await falseStates(store, rooms?.aggregates ?? aggregates)) lines.add(line)
  await store.close()
  return lines
}

/** State rows that are not what their stream folds to; a line that no other dump can have. */
async function falseStates(store: Store, kinds: readonly AnyAggregate[]): Promise<string[]> {
  const folded = new Map<string, unknown>()
  const byStream = new Map(kinds.map((kind) => [kind.stream, kind]))
  for (const event of await store.log.read(0, 10_000_000)) {
    const kind = byStream.get(event.stream)
    if (!kind) continue
    const key = `${event.instance}/${event.stream}/${event.id}`
    const state = folded.has(key) ? folded.get(key) : kind.initial
    folded.set(key, Reflect.get(kind.evolve, event.type)(state, event))
  }
  const rows = store.database
    .query<{ key: string; state: string }, []>(
      "SELECT instance || '/' || stream || '/' || id AS key, state FROM state",
    )
    .all()
  const wrong = rows.filter(({ key, state }) => JSON.stringify(folded.get(key)) !== state)
  const lost = rows.length === folded.size ? [] : [`${rows.length} states of ${folded.size}`]
  return [...wrong.map(({ key }) => `state ${key} of ${store.database.filename}`), ...lost]
}
