import type { Database } from "bun:sqlite"
import type { Folded } from "../log/log.ts"
import { claimSum, headOf } from "../log/row.ts"
import type { SqliteLog } from "../log/sqlite-log.ts"
import type { Replica } from "../log/write/committer.ts"
import { numberAt } from "../retention/horizon.ts"
import type { Change, Expired, Mark, Page, Place, SharedLog } from "./shared-log.ts"

/** Writes what the shared log says into this node's own file. */
export type Follower = {
  readonly place: () => Place
  /** Whether it has what the log had when it ended there. */
  readonly has: (head: Page["head"]) => boolean
  /**
   * All of a page or nothing of it. `folded` are states that are known already, by the position of
   * the last event in them.
   */
  readonly take: (page: Page, folded?: ReadonlyMap<number, readonly Folded[]>) => Promise<void>
}

export type FollowerParts = {
  readonly database: Database
  readonly local: Pick<SqliteLog, "replicate">
  readonly shared: Pick<SharedLog, "blob">
  /** Drops one stream with all that was made of it. */
  readonly forget: (stream: Expired) => void
}

export function followerOf({ database, local, shared, forget }: FollowerParts): Follower {
  const sql = statements(database)
  let place: Place = placeOf(database)
  return {
    place: () => place,
    has: (head) => place.position >= head.position && place.number >= head.number,
    take: async ({ events, changes, upTo }, folded) => {
      const files = await filesOf(changes, shared)
      let { position } = place
      const isSame = upTo.mark?.sum === place.mark?.sum
      if (events.length === 0 && changes.length === 0 && isSame) {
        place = { ...upTo, position }
        return
      }
      await local.replicate((replica) => {
        const changing = changesOf(changes, { sql, replica, files, forget })
        let gone = 0
        for (const event of events) {
          changing(event.position - 1)
          gone += event.position - position - 1
          position = event.position
          replica.event(event, folded?.get(position))
        }
        changing(Number.MAX_SAFE_INTEGER)
        if (gone > 0) sql.gone.run(gone)
        sql.number.run(upTo.number)
        sql.epoch.run(upTo.epoch)
        if (upTo.mark) sql.mark.run(JSON.stringify(upTo.mark))
      })
      place = { ...upTo, position }
    },
  }
}

/** How far a file has come. */
export function placeOf(database: Database): Place {
  const position = headOf(database)
  const number = numberAt(database, "log_number")
  const mark = markOf(database)
  // An older version moves on without storing its link: the next page brings the right one.
  const isValid = mark !== undefined && mark.position >= position && mark.number >= number
  return { position, number, epoch: numberAt(database, "log_epoch"), ...(isValid && { mark }) }
}

function markOf(database: Database): Mark | undefined {
  const row = database
    .query<{ value: string }, []>("SELECT value FROM meta WHERE key = 'log_mark'")
    .get()
  return row ? JSON.parse(row.value) : undefined
}

type Bytes = Uint8Array<ArrayBuffer>

/** Bytes of files, by the number of their change; of those that are gone by now nothing. */
async function filesOf(
  changes: readonly Change[],
  shared: FollowerParts["shared"],
): Promise<ReadonlyMap<number, Bytes>> {
  const found = new Map<number, Bytes>()
  for (const change of changes) {
    if (change.kind !== "put") continue
    const bytes = await shared.blob(change)
    if (bytes) found.set(change.number, bytes)
  }
  return found
}

type Changing = {
  readonly sql: Statements
  readonly replica: Replica
  readonly files: ReadonlyMap<number, Bytes>
  readonly forget: FollowerParts["forget"]
}

/** Makes the changes that came up to a position, each time going on where it was. */
function changesOf(changes: readonly Change[], how: Changing): (position: number) => void {
  let next = 0
  return (position) => {
    for (let change = changes[next]; change; change = changes[next]) {
      if (change.position > position) return
      make(change, how)
      next++
    }
  }
}

function make(change: Change, { sql, replica, files, forget }: Changing): void {
  if (change.kind === "release") sql.release.run(change.of)
  else if (change.kind === "forget") forget(change)
  else if (change.kind === "take") {
    const { instance, claim: kind, key, stream, id, expires, number } = change
    const sum = claimSum({ instance, kind, key, stream, id, expires })
    sql.take.run(instance, kind, key, stream, id, expires, sum, number)
  } else {
    const { instance, stream, id, name, number } = change
    const bytes = files.get(number)
    if (change.kind === "drop") replica.blob(instance, { stream, id, drop: name })
    else if (bytes) replica.blob(instance, { stream, id, put: name, bytes })
  }
}

type Statements = ReturnType<typeof statements>

const statements = (database: Database) => ({
  take: database.prepare<unknown, (string | number | null)[]>(
    `INSERT INTO claim (instance, kind, key, stream, id, expires, sum, number)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET stream = excluded.stream, id = excluded.id,
       expires = excluded.expires, sum = excluded.sum, number = excluded.number`,
  ),
  release: database.prepare<unknown, [number]>("DELETE FROM claim WHERE number = ?"),
  number: database.prepare<unknown, [number]>(
    `INSERT INTO meta (key, value) VALUES ('log_number', ?)
     ON CONFLICT DO UPDATE SET value = excluded.value`,
  ),
  epoch: database.prepare<unknown, [number]>(
    `INSERT INTO meta (key, value) VALUES ('log_epoch', ?)
     ON CONFLICT DO UPDATE SET value = excluded.value`,
  ),
  mark: database.prepare<unknown, [string]>(
    `INSERT INTO meta (key, value) VALUES ('log_mark', ?)
     ON CONFLICT DO UPDATE SET value = excluded.value`,
  ),
  // Positions that are gone for good: with those that are there they are all there were.
  gone: database.prepare<unknown, [number]>(
    `INSERT INTO meta (key, value) VALUES ('pruned', ?)
     ON CONFLICT DO UPDATE SET value = value + excluded.value`,
  ),
})
