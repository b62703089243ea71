import { Fault } from "../../kernel/fault.ts"
import { type PostgresClient, requireRow } from "./postgres-client.ts"
import { type ChainLink, historyDiffersId, type LogPosition } from "./shared-log.ts"
import { unescapeText } from "./wire.ts"

/** A node, by its part of the IDs, and its current process. */
export type NodeIdentity = readonly [part: number, run: string]

/**
 * Tracks takeovers of the database by other servers. A server that was not fully replicated may
 * have lost the end of the log, and a node that has it must not continue as if nothing were
 * missing.
 */
export type EpochTracker = {
  /** The epoch that this node has verified. */
  readonly current: () => number
  /**
   * Verifies that this node may continue from a position. Throws if the node has events that the
   * log has lost.
   */
  readonly verify: (from: LogPosition) => Promise<void>
  /** Runs work, and repeats it after a takeover if this node may continue. */
  readonly retryAfterTakeover: <T>(from: LogPosition, work: () => Promise<T>) => Promise<T>
}

/** LK005: a node that has not yet verified its position after a takeover. */
export const epochFunctions = `
-- The epoch increases when a server takes over the database, or restores it from a backup.
CREATE OR REPLACE FUNCTION latchkey.timeline_2() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
$$;

-- Starts an epoch if another server has taken over, and returns whether a node at this position of
-- an older epoch may continue: not if it has events that were lost.
CREATE OR REPLACE FUNCTION latchkey.turn_2(
  in_part integer, in_run text, in_epoch integer, in_position bigint, in_number bigint
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log;
  lost bigint;
BEGIN
  SELECT * INTO STRICT head FROM latchkey.log FOR UPDATE;
  IF head.moving IS NOT NULL THEN RAISE SQLSTATE 'LK006' USING MESSAGE = head.moving; END IF;
  IF head.timeline <> latchkey.timeline_2() THEN
    IF head.timeline <> '' THEN
      head.epoch := head.epoch + 1;
      INSERT INTO latchkey.epoch (epoch, position, number)
      VALUES (head.epoch, head.position, head.number);
    END IF;
    UPDATE latchkey.log SET timeline = latchkey.timeline_2(), epoch = head.epoch;
  END IF;
  SELECT min(e.position) INTO lost FROM (
    SELECT epoch, position, number FROM latchkey.epoch WHERE epoch > in_epoch
    UNION ALL SELECT head.epoch, head.position, head.number
  ) e WHERE e.position < in_position OR e.number < in_number;
  IF lost IS NULL THEN
    UPDATE latchkey.node SET epoch = head.epoch WHERE part = in_part AND run = in_run;
  END IF;
  RETURN json_build_object('epoch', head.epoch, 'lost', lost);
END $$;
`

/** LK005; never shown to callers. */
const turnedId = "store.database_turned"

/** The fields that distinguish two events. */
export type LocalEvent = {
  readonly position: number
  readonly id: string
  readonly version: number
  readonly time: number
  /** As JSON. */
  readonly data: string
}

/** Events of the node's own file up to a position, newest first, at most `limit`. */
export type LocalEvents = (upTo: number, limit: number) => readonly LocalEvent[]

/** The chain link of a node's position; an empty hash if the log had no chain yet. */
export const markValues = (mark: ChainLink | undefined): readonly [number, number, string] => [
  mark?.position ?? 0,
  mark?.number ?? 0,
  mark?.sum ?? "",
]

const compareBatch = 500

/** The first position at which the log and this node's file differ. */
async function firstDifference(
  client: PostgresClient,
  local: LocalEvents,
  { position: last, mark }: LogPosition,
): Promise<number> {
  let first = mark?.position ?? last
  for (let upTo = last; upTo > 0; ) {
    const own = local(upTo, compareBatch)
    const lowest = own.at(-1)?.position
    if (lowest === undefined) return first
    const rows = await client.query<LocalEvent>(
      `SELECT position::float8 AS position, id, version, time::float8 AS time, data
       FROM latchkey.event WHERE position BETWEEN $1::bigint AND $2::bigint`,
      [lowest, upTo],
    )
    const there = new Map(rows.map((row) => [row.position, row]))
    const differing = own.filter((event) => {
      const other = there.get(event.position)
      // Expired events may be pruned on one side only.
      if (!other) return false
      const isSame = unescapeText(other.id) === event.id && other.version === event.version
      return !isSame || other.time !== event.time || other.data !== event.data
    })
    first = Math.min(first, differing.at(-1)?.position ?? first)
    if (differing.length === 0 && there.size > 0) return first
    upTo = lowest - 1
  }
  return first
}

export function createEpochTracker(
  client: PostgresClient,
  identity: NodeIdentity,
  local: LocalEvents = () => [],
): EpochTracker {
  let verifiedEpoch = 0
  /** Cached: a node that differs checks again twice a second. */
  let differing: { readonly sum: string; readonly first: number } | undefined
  const refuseOtherHistory = async (location: LogPosition) => {
    const values = markValues(location.mark)
    const [row] = await client.query<{ has: boolean; oldest: number }>(
      `SELECT latchkey.has_1($1::bigint, $2::bigint, $3) AS has,
         coalesce((SELECT min(position) FROM latchkey.chain), 0)::float8 AS oldest`,
      values,
    )
    const { has: foundEvents, oldest } = requireRow(row)
    if (foundEvents) return
    const [position, , sum] = values
    if (position < oldest) throw incomparableError(position, oldest)
    if (differing?.sum !== sum) {
      differing = { sum, first: await firstDifference(client, local, location) }
    }
    throw historyDiffersError(differing.first)
  }
  const verify = async (location: LogPosition) => {
    const { epoch, position, number } = location
    const [row] = await client.query<{ found: { epoch: number; lost: number | null } }>(
      "SELECT latchkey.turn_2($1::integer, $2, $3::integer, $4::bigint, $5::bigint) AS found",
      [...identity, epoch, position, number],
    )
    const { found } = requireRow(row)
    if (found.lost !== null) throw eventsLostError(position, found.lost)
    await refuseOtherHistory(location)
    verifiedEpoch = found.epoch
  }
  return {
    current: () => verifiedEpoch,
    verify,
    retryAfterTakeover: async (from, work) => {
      try {
        return await work()
      } catch (cause) {
        if (!(cause instanceof Fault) || cause.id !== turnedId) throw cause
      }
      await verify(from)
      return work()
    },
  }
}

export const takeoverError = () =>
  new Fault("unavailable", turnedId, "another server has taken over the database")

const historyAdvice =
  "Stop all nodes. Restore the database with the history that you want to keep; then start " +
  "every node that differs from it with an empty data directory, which is rebuilt from the " +
  "log"

const historyDiffersError = (first: number) =>
  new Fault(
    "unavailable",
    historyDiffersId,
    `the log in PostgreSQL has a different history from position ${first} on than this ` +
      "data directory: a dump or a copy of the database was restored, and other nodes have " +
      `written since. This node does not answer requests. ${historyAdvice}`,
  )

/** Only this node is older than the chain; the others are compared as usual. */
const incomparableError = (position: number, oldest: number) =>
  new Fault(
    "unavailable",
    historyDiffersId,
    `this data directory ends at position ${position}, but the checksum chain of the log ` +
      `in PostgreSQL starts at position ${oldest}, so they can't be compared. The directory ` +
      "was not used for more than a week, or was restored from a backup. This node does not " +
      "answer requests. Start it with an empty data directory, which is rebuilt from the " +
      "log; other nodes are not affected",
  )

export const eventsLostError = (position: number, head: number) =>
  new Fault(
    "unavailable",
    "store.database_behind",
    `this data directory has events up to position ${position}, but the log in PostgreSQL ` +
      `only has those up to ${head}: it has lost some. Nothing was changed. Restore the ` +
      "database, or start with an empty data directory to continue without them",
  )
