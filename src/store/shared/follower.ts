import type { Database } from "bun:sqlite"
import type { FoldedStream } from "../log/log.ts"
import { claimSum, headOf } from "../log/row.ts"
import type { SqliteLog } from "../log/sqlite-log.ts"
import type { ReplicaWriter } from "../log/write/committer.ts"
import { readNumber } from "../retention/horizon.ts"
import type {
  ChainLink,
  ExpiredStream,
  LogChange,
  LogPage,
  LogPosition,
  SharedLog,
} from "./shared-log.ts"

/** Applies the shared log to this node's file. */
export type Follower = {
  readonly place: () => LogPosition
  /** Whether the file has everything up to a head of the log. */
  readonly isUpToDate: (head: LogPage["head"]) => boolean
  /**
   * Applies a page completely or not at all. `folded` contains known states, by the position of
   * their last event.
   */
  readonly apply: (
    page: LogPage,
    folded?: ReadonlyMap<number, readonly FoldedStream[]>,
  ) => Promise<void>
}

export type FollowerParts = {
  readonly database: Database
  readonly local: Pick<SqliteLog, "replicate">
  readonly shared: Pick<SharedLog, "blob">
  /** Removes a stream with everything derived from it. */
  readonly forget: (stream: ExpiredStream) => void
}

export function createFollower({ database, local, shared, forget }: FollowerParts): Follower {
  const sql = prepareStatements(database)
  let place: LogPosition = readPosition(database)
  return {
    place: () => place,
    isUpToDate: (head) => place.position >= head.position && place.number >= head.number,
    apply: async ({ events, changes, upTo }, folded) => {
      const blobs = await loadBlobs(changes, shared)
      let { position } = place
      const isSame = upTo.mark?.sum === place.mark?.sum
      if (events.length === 0 && changes.length === 0 && isSame) {
        place = { ...upTo, position }
        return
      }
      await local.replicate((replica) => {
        const changing = createChangeApplier(changes, { sql, replica, blobs, forget })
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

/** The position of a file in the log. */
export function readPosition(database: Database): LogPosition {
  const position = headOf(database)
  const number = readNumber(database, "log_number")
  const mark = readMark(database)
  // An older version advances without storing its chain link: the next page contains the right one.
  const isValid = mark !== undefined && mark.position >= position && mark.number >= number
  return { position, number, epoch: readNumber(database, "log_epoch"), ...(isValid && { mark }) }
}

function readMark(database: Database): ChainLink | undefined {
  const row = database
    .query<{ value: string }, []>("SELECT value FROM meta WHERE key = 'log_mark'")
    .get()
  return row ? JSON.parse(row.value) : undefined
}

type BlobBytes = Uint8Array<ArrayBuffer>

/** Blobs by the number of their change; removed ones are missing. */
async function loadBlobs(
  changes: readonly LogChange[],
  shared: FollowerParts["shared"],
): Promise<ReadonlyMap<number, BlobBytes>> {
  const found = new Map<number, BlobBytes>()
  for (const change of changes) {
    if (change.kind !== "put") continue
    const bytes = await shared.blob(change)
    if (bytes) found.set(change.number, bytes)
  }
  return found
}

type ChangeContext = {
  readonly sql: Statements
  readonly replica: ReplicaWriter
  readonly blobs: ReadonlyMap<number, BlobBytes>
  readonly forget: FollowerParts["forget"]
}

/** Applies changes up to a position, continuing where the previous call stopped. */
function createChangeApplier(
  changes: readonly LogChange[],
  context: ChangeContext,
): (position: number) => void {
  let next = 0
  return (position) => {
    for (let change = changes[next]; change; change = changes[next]) {
      if (change.position > position) return
      applyChange(change, context)
      next++
    }
  }
}

function applyChange(change: LogChange, { sql, replica, blobs, forget }: ChangeContext): void {
  if (change.kind === "release") sql.release.run(change.of)
  else if (change.kind === "forget") forget(change)
  else if (change.kind === "take") {
    const { instance, claim: kind, key, stream, id, expires, number } = change
    const sum = claimSum({ instance, kind, key, stream, id, expires })
    sql.take.run(instance, kind, key, stream, id, expires, sum, number)
  } else {
    const { instance, stream, id, name, number } = change
    const bytes = blobs.get(number)
    if (change.kind === "drop") replica.blob(instance, { stream, id, drop: name })
    else if (bytes) replica.blob(instance, { stream, id, put: name, bytes })
  }
}

type Statements = ReturnType<typeof prepareStatements>

const prepareStatements = (database: Database) => ({
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
  // Positions of removed events: together with the stored ones they are complete.
  gone: database.prepare<unknown, [number]>(
    `INSERT INTO meta (key, value) VALUES ('pruned', ?)
     ON CONFLICT DO UPDATE SET value = value + excluded.value`,
  ),
})
