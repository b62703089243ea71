import { Fault } from "../../kernel/fault.ts"
import { type PostgresClient, requireRow } from "./postgres-client.ts"
import { type Mark, otherHistory, type Place } from "./shared-log.ts"
import { told } from "./wire.ts"

/** A node, by its part of ids, and the process that is this node. */
export type Me = readonly [part: number, run: string]

/**
 * What a node knows of servers that took the database over. One that was not told all may have lost
 * the end of the log, and a node that has it must not go on as if nothing were missing.
 */
export type Epochs = {
  /** The epoch that this node was found to belong to. */
  readonly now: () => number
  /** Looks whether this node may go on from a place. Faults where it has what the log has lost. */
  readonly turn: (from: Place) => Promise<void>
  /** Does it, and once more where another server has taken over and this node may go on. */
  readonly within: <T>(from: Place, work: () => Promise<T>) => Promise<T>
}

/** LK005: a node that has not looked yet whether it has more than was left. */
export const epochFunctions = `
-- A server that takes the database over, or has it from a backup, counts on.
CREATE OR REPLACE FUNCTION latchkey.timeline_2() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
$$;

-- Begins an epoch where another server has taken over, and says whether a node that has come so far
-- in an older one may go on: not if it has what was lost.
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

/** LK005, which nobody is told. */
const turned = "store.database_turned"

/** What tells one event from another. */
export type LocalEvent = {
  readonly position: number
  readonly id: string
  readonly version: number
  readonly time: number
  /** As JSON. */
  readonly data: string
}

/** Events of the node's own file up to a position, the newest first, at most so many. */
export type LocalEvents = (upTo: number, limit: number) => readonly LocalEvent[]

/** Of the link that a node is in; an empty sum where the log had no chain yet. */
export const markValues = (mark: Mark | undefined): readonly [number, number, string] => [
  mark?.position ?? 0,
  mark?.number ?? 0,
  mark?.sum ?? "",
]

const compareMax = 500

/** The first position where the log has another event than this node's file. */
async function firstDifference(
  client: PostgresClient,
  local: LocalEvents,
  { position: last, mark }: Place,
): Promise<number> {
  let first = mark?.position ?? last
  for (let upTo = last; upTo > 0; ) {
    const own = local(upTo, compareMax)
    const lowest = own.at(-1)?.position
    if (lowest === undefined) return first
    const rows = await client.ask<LocalEvent>(
      `SELECT position::float8 AS position, id, version, time::float8 AS time, data
       FROM latchkey.event WHERE position BETWEEN $1::bigint AND $2::bigint`,
      [lowest, upTo],
    )
    const there = new Map(rows.map((row) => [row.position, row]))
    const differing = own.filter((event) => {
      const other = there.get(event.position)
      // What has expired may be gone on one side only.
      if (!other) return false
      const isSame = told(other.id) === event.id && other.version === event.version
      return !isSame || other.time !== event.time || other.data !== event.data
    })
    first = Math.min(first, differing.at(-1)?.position ?? first)
    if (differing.length === 0 && there.size > 0) return first
    upTo = lowest - 1
  }
  return first
}

export function epochsOf(client: PostgresClient, me: Me, local: LocalEvents = () => []): Epochs {
  let known = 0
  /** Found once: a node that differs looks again twice a second. */
  let differing: { readonly sum: string; readonly first: number } | undefined
  const refuseOtherHistory = async (place: Place) => {
    const values = markValues(place.mark)
    const [row] = await client.ask<{ has: boolean; oldest: number }>(
      `SELECT latchkey.has_1($1::bigint, $2::bigint, $3) AS has,
         coalesce((SELECT min(position) FROM latchkey.chain), 0)::float8 AS oldest`,
      values,
    )
    const { has, oldest } = requireRow(row)
    if (has) return
    const [position, , sum] = values
    if (position < oldest) throw incomparableError(position, oldest)
    if (differing?.sum !== sum) {
      differing = { sum, first: await firstDifference(client, local, place) }
    }
    throw differsError(differing.first)
  }
  const turn = async (place: Place) => {
    const { epoch, position, number } = place
    const [row] = await client.ask<{ found: { epoch: number; lost: number | null } }>(
      "SELECT latchkey.turn_2($1::integer, $2, $3::integer, $4::bigint, $5::bigint) AS found",
      [...me, epoch, position, number],
    )
    const { found } = requireRow(row)
    if (found.lost !== null) throw lostError(position, found.lost)
    await refuseOtherHistory(place)
    known = found.epoch
  }
  return {
    now: () => known,
    turn,
    within: async (from, work) => {
      try {
        return await work()
      } catch (cause) {
        if (!(cause instanceof Fault) || cause.id !== turned) throw cause
      }
      await turn(from)
      return work()
    },
  }
}

export const turnedError = () =>
  new Fault("unavailable", turned, "another server has taken the database over")

const advice =
  "Stop all nodes. Restore the database that has the history you want to keep; then start every " +
  "node that differs from it with an empty data folder, which is made anew from the log"

const differsError = (first: number) =>
  new Fault(
    "unavailable",
    otherHistory,
    `the log in PostgreSQL has another history than this data folder, from position ${first} on: ` +
      "a dump or a copy of its files was restored, and others have written since. This node " +
      `answers nothing. ${advice}`,
  )

/** Only this node is behind what the chain still covers: the others are compared as usual. */
const incomparableError = (position: number, oldest: number) =>
  new Fault(
    "unavailable",
    otherHistory,
    `this data folder ends at position ${position}, and the checksum chain of the log in ` +
      `PostgreSQL begins at position ${oldest}, so they can't be compared. The folder was not ` +
      "used for more than a week, or was restored from a backup. This node answers nothing. " +
      "Start this node with an empty data folder, which is made anew from the log; the other " +
      "nodes are not affected",
  )

export const lostError = (position: number, head: number) =>
  new Fault(
    "unavailable",
    "store.database_behind",
    `this data folder has events up to position ${position}, and the log in PostgreSQL has only ` +
      `those up to ${head} of them: it has lost some. Nothing was changed. Restore the database, ` +
      "or, to go on with what it has, start with an empty folder",
  )
