import type { Database } from "bun:sqlite"
import { copyFileSync, rmSync } from "node:fs"
import { aggregates, views } from "../../src/server/modules.ts"
import { type Aggregate, openStore, type Store, type View } from "../../src/store/index.ts"

/** Opens the database of a stopped server, as the server does. */
export const openDatabase = (file: string, declared: readonly View[] = views): Store =>
  openStore({
    isCopy: true,
    file,
    aggregates,
    views: declared,
    fatal: (cause) => {
      throw cause
    },
    notReady: (_, cause) => {
      throw cause
    },
  })

/**
 * Checks a stopped server's database and returns the errors: pages, positions, versions, event
 * checksums, and state rows that differ from the replayed events.
 */
export async function audit(file: string): Promise<readonly string[]> {
  const store = openDatabase(file)
  try {
    const { database } = store
    return [
      ...findDamage(database),
      ...findGaps(database),
      ...(await findStrayStates(store)),
      ...findStrayClaims(database),
    ]
  } finally {
    await store.close()
  }
}

function findDamage(database: Database): readonly string[] {
  const check = database.query<{ integrity_check: string }, []>("PRAGMA integrity_check")
  return check.all().flatMap((row) => (row.integrity_check === "ok" ? [] : row.integrity_check))
}

/**
 * Positions and versions run 1, 2, 3, …, except positions of completely dropped streams; a
 * command's events are adjacent.
 */
function findGaps(database: Database): readonly string[] {
  const positions = queryOne<{ count: number; last: number }>(
    database,
    `SELECT count(*) + coalesce((SELECT value FROM meta WHERE key = 'pruned'), 0) AS count,
       coalesce(max(position), 0) AS last FROM event`,
  )
  const streams = queryOne<{ count: number }>(
    database,
    `SELECT count(*) AS count FROM (SELECT 1 FROM event GROUP BY instance, stream, id
       HAVING count(*) <> max(version) OR min(version) <> 1)`,
  )
  return [
    ...(positions.count === positions.last
      ? []
      : [`${positions.count} events up to position ${positions.last}`]),
    ...(streams.count === 0 ? [] : [`${streams.count} streams have gaps in their versions`]),
  ]
}

const queryOne = <Row>(database: Database, sql: string): Row => {
  const row = database.query<Row, []>(sql).get()
  if (!row) throw new Error(`no row from: ${sql}`)
  return row
}

/**
 * Replays every stream from the log and compares it with the stored state row; a stream without a
 * row must have one event, and no expiry.
 */
async function findStrayStates(store: Store): Promise<readonly string[]> {
  const folded = await foldAll(store)
  type Row = { readonly key: string; readonly version: number; readonly state: string }
  const rows = store.database
    .query<Row, []>("SELECT json_array(instance, stream, id) AS key, version, state FROM state")
    .all()
  const strays = rows.filter(({ key, version, state }) => {
    const expected = folded.get(key)
    return expected?.version !== version || JSON.stringify(expected.state) !== state
  })
  const known = new Set(rows.map(({ key }) => key))
  const rowless = [...folded].filter(([key]) => !known.has(key))
  const missing = rowless.filter(([key, { kind, version, state }]) => {
    const [instance = "", , id = ""]: readonly string[] = JSON.parse(key)
    const read = store.state({ instance }, kind, id)
    const isRight = JSON.stringify(read) === JSON.stringify(state)
    return version > 1 || kind.retention !== "forever" || !isRight
  })
  return [
    ...strays.map(({ key }) => `the state of ${key} is not what its events say`),
    ...missing.map(([key]) => `${key} has no state, or not that of its event`),
  ]
}

/** The replayed state of a stream, and its number of events. */
export type FoldedStream = {
  // Reason: a list of all kinds loses the state type of each.
  readonly kind: Aggregate<any, any>
  readonly version: number
  readonly state: unknown
}

/** Every stream, keyed by its instance, kind and ID as a JSON array. */
export async function foldAll(store: Store): Promise<ReadonlyMap<string, FoldedStream>> {
  const kinds = new Map<string, Aggregate<any, any>>(
    aggregates.map((kind) => [kind.stream, kind as Aggregate<any, any>]),
  )
  const branches = new Map<string, (state: unknown, event: object) => unknown>(
    aggregates.flatMap((kind) => Object.entries<any>(kind.evolve)),
  )
  const folded = new Map<string, FoldedStream>()
  for (let position = 0; ; ) {
    const events = await store.log.read(position, 1000)
    for (const event of events) {
      const key = JSON.stringify([event.instance, event.stream, event.id])
      const kind = kinds.get(event.stream)
      if (!kind) throw new Error(`no aggregate owns streams of ${event.stream}`)
      const before = folded.get(key)?.state ?? kind.initial
      const after = branches.get(event.type)?.(before, event)
      const state = after && JSON.parse(JSON.stringify(after))
      folded.set(key, { kind, version: event.version, state })
      position = event.position
    }
    if (events.length === 0) return folded
  }
}

/**
 * Every claim belongs to an existing stream, or has an expiry. A claim without an instance, which
 * is global, belongs to a stream of any instance.
 */
function findStrayClaims(database: Database): readonly string[] {
  const { count } = queryOne<{ count: number }>(
    database,
    // Two queries instead of an OR, which no index can serve.
    `SELECT count(*) AS count FROM claim WHERE expires IS NULL
       AND NOT EXISTS (SELECT 1 FROM event JOIN name ON code = event.stream
         WHERE event.instance = claim.instance AND name = claim.stream AND event.id = claim.id)
       AND (claim.instance <> '' OR NOT EXISTS (SELECT 1 FROM event JOIN name ON code = event.stream
         WHERE name = claim.stream AND event.id = claim.id))`,
  )
  return count === 0 ? [] : [`${count} claims belong to nothing`]
}

/** The rows of every view, each table sorted by its key. */
export function dumpViews(store: Store): Readonly<Record<string, readonly unknown[]>> {
  const tables = views.flatMap((view) => Object.keys(view.tables).map((table) => ({ view, table })))
  const generations = store.database
    .query<{ name: string; generation: number }, []>("SELECT name, generation FROM view")
    .all()
  return Object.fromEntries(
    tables.map(({ view, table }) => {
      const at = generations.find((row) => row.name === view.name)?.generation
      const { key } = view.tables[table] ?? { key: "" }
      const sql = `SELECT * FROM ${table}_${at} ORDER BY instance, ${key}`
      return [table, store.database.query(sql).all()]
    }),
  )
}

/** Rebuilds every view from the log in a copy; returns the tables that differ. */
export async function findRebuildDifferences(file: string): Promise<readonly string[]> {
  const before = openDatabase(file)
  await before.rebuilt()
  const live = dumpViews(before)
  await before.close()
  const copy = `${file}.rebuilt`
  copyFileSync(file, copy)
  const store = openDatabase(
    copy,
    views.map((view) => ({ ...view, hash: "changed" })),
  )
  try {
    if (store.rebuilding().length !== views.length) return ["not every view was made anew"]
    await store.rebuilt()
    const again = dumpViews(store)
    return Object.keys(live).filter((table) => !Bun.deepEquals(live[table], again[table], true))
  } finally {
    await store.close()
    rmSync(copy)
  }
}
